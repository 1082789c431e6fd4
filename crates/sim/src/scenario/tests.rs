mod smoke {
    #[test]
    fn examples() {
        for (name, text) in [
            ("satellite.toml", include_str!("../../../../examples/satellite.toml")),
            ("bottleneck.toml", include_str!("../../../../examples/bottleneck.toml")),
            ("speed.toml", include_str!("../../../../examples/speed.toml")),
            ("wan.toml", include_str!("../../../../examples/wan.toml")),
        ] {
            if let Err(error) = super::super::Scenario::from_toml(text, name, &[]) {
                panic!("{error}");
            }
        }
    }
}
