//! Routes by code point: their meaning and the errors of wrong ones.

use anabranch_base::Dscp;

use super::read;

/// Two paths from a over e to b: over p in two links, over q and r in three. The first route stands in line 31.
fn two_paths(routes: &str) -> String {
    let link = |name: &str, from: &str, to: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"infinite\"\ndelay = \"1 ms\"\nboth = true\n"
        )
    };
    let links =
        [link("in", "a", "e"), link("p", "e", "b"), link("q", "e", "r"), link("s", "r", "b")].concat();
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nprotocol = \"sctp\"\nengine = \"rfc9260\"\n\
                traffic = { kind = \"greedy\", message = \"1000 B\" }\n";
    format!("duration = \"1 s\"\n{links}{routes}{flow}")
}

fn code_point(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

#[test]
fn code_points_take_their_links_and_all_others_the_shortest() {
    let routes = "[[route]]\nat = \"e\"\nto = \"b\"\ndscp = [\"EF\", 3]\nvia = \"q\"\n\
                  [[route]]\nat = \"b\"\nto = \"a\"\ndscp = [3]\nvia = \"s-back\"\n";
    let scenario = read(&two_paths(routes)).unwrap();
    let way = |from: &str, to: &str, dscp: u8| {
        let [from, to] = [from, to].map(|name| scenario.host_index(name).unwrap());
        let links = scenario.route_of(from, to, code_point(dscp)).unwrap();
        links.iter().map(|link| scenario.links[*link].name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(way("a", "b", 0), ["in", "p"]);
    assert_eq!(way("a", "b", 46), ["in", "q", "s"]);
    assert_eq!(way("a", "b", 3), ["in", "q", "s"]);
    assert_eq!(way("b", "a", 46), ["p-back", "in-back"]);
    assert_eq!(way("b", "a", 3), ["s-back", "q-back", "in-back"]);
    // Where nothing is said, the fewest links.
    assert_eq!(way("r", "b", 46), ["s"]);
    let (classes, examples) = scenario.route_classes();
    assert_eq!(examples.len(), 3);
    assert_eq!((classes[0], classes[46] == classes[3]), (0, false));
}

#[test]
fn a_route_for_all_gives_way_to_one_that_names_the_code_point() {
    let routes = "[[route]]\nat = \"e\"\nto = \"b\"\ndscp = [\"EF\"]\nvia = \"p\"\n\
                  [[route]]\nat = \"e\"\nto = \"b\"\nvia = \"q\"\n";
    let scenario = read(&two_paths(routes)).unwrap();
    let [from, to] = ["a", "b"].map(|name| scenario.host_index(name).unwrap());
    let links = |dscp: u8| scenario.route_of(from, to, code_point(dscp)).unwrap().len();
    assert_eq!((links(46), links(0), links(63)), (2, 3, 3));
}

#[test]
fn wrong_routes_are_told() {
    let route = |at: &str, to: &str, rest: &str| format!("[[route]]\nat = \"{at}\"\nto = \"{to}\"\n{rest}\n");
    let good = route("e", "b", "dscp = [\"EF\"]\nvia = \"q\"");
    for (routes, expected) in [
        (route("x", "b", "via = \"q\""), "31:6: at: there is no node \"x\"; there are: a, e, b, r"),
        (route("e", "c", "via = \"q\""), "32:6: to: there is no node \"c\"; there are: a, e, b, r"),
        (route("e", "e", "via = \"q\""), "32:6: to: packets for \"e\" have arrived there"),
        (
            route("e", "b", "via = \"s\""),
            "33:7: via: no link called \"s\" begins at \"e\"; those that do: in-back, p, q",
        ),
        (route("e", "b", "dscp = [\"EE\"]\nvia = \"q\""), "33:9: dscp: unknown code point \"EE\""),
        (
            route("e", "b", "dscp = []\nvia = \"q\""),
            "33:8: dscp: no code point at all; leave dscp out to mean every one",
        ),
        (format!("{good}{good}"), "38:9: dscp: code point 46 has a route at \"e\" to \"b\" already"),
        (
            route("e", "b", "via = \"q\"") + &route("e", "b", "via = \"p\""),
            "34:1: two routes at \"e\" lead packets with any code point to \"b\"",
        ),
        // From e to r and from r back to e.
        (
            good.clone() + &route("r", "b", "dscp = [\"EF\"]\nvia = \"q-back\""),
            "43:6: to: packets from \"a\" to \"b\" with code point 46 go in circles; look at [[route]]",
        ),
    ] {
        let told = read(&two_paths(&routes)).expect_err("it is wrong").to_string();
        assert!(told.starts_with(&format!("f.toml:{expected}")), "{told}");
    }
}
