//! Tables for a reader: the width of the types of a crate, the causes of its circles of folders, the needs of each file and folder.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::path::Path;

use crate::check;
use crate::crate_::Crate;
use crate::error::Error;
use crate::graph::{self, Needs};
use crate::types;
use crate::workspace;

fn read(root: &Path, name: &str) -> Result<Crate, Error> {
    let members = workspace::members(root)?;
    let member = members.iter().find(|member| member.name == name);
    let folder = member.map(|member| member.folder.clone());
    Crate::read(&folder.ok_or_else(|| Error::NoMember { name: name.to_owned() })?)
}

/// The 20 widest types of a crate, and its circles of folders with their causes.
pub(crate) fn measure(root: &Path, name: &str) -> Result<String, Error> {
    let found = read(root, name)?;
    let mut widest: Vec<_> = types::widths(&found).into_iter().collect();
    // By how much of the limits it takes, in the worst of the three measures.
    let share = |width: types::Width| {
        let parts = width.parts().into_iter().zip(check::LIMITS.parts());
        parts.map(|((_, is), (_, most))| is * 1000 / most).max()
    };
    widest.sort_by_key(|(_, width)| Reverse(share(*width)));
    let mut text = String::from("fields  changing  files  type\n");
    for (name, width) in widest.iter().take(20) {
        let _ = writeln!(text, "{:>6}  {:>8}  {:>5}  {name}", width.fields, width.changing, width.files);
    }
    let needs = graph::folders(&found);
    for circle in check::folder_circles(&needs) {
        let of = |from: &String| needs.get(from).into_iter().flatten();
        let arrows = circle.iter().flat_map(of).filter(|(to, _)| circle.contains(to)).count();
        let (rooms, words) = (check::count_rooms(&circle), graph::describe(&circle, &needs));
        let _ = writeln!(text, "\ncircle of {rooms}, {arrows} arrows:{words}");
    }
    Ok(text)
}

/// Every need of a file and of a folder of a crate, a line each: the file or folder, the one that it needs, the name that it takes.
pub(crate) fn needs(root: &Path, name: &str) -> Result<String, Error> {
    let found = read(root, name)?;
    let mut text = String::new();
    let mut print = |kind: &str, needs: &Needs| {
        for (from, others) in needs {
            for (to, names) in others {
                for name in names {
                    let _ = writeln!(text, "{kind}\t{from}\t{to}\t{name}");
                }
            }
        }
    };
    print("file", &graph::files(&found));
    print("folder", &graph::folders(&found));
    Ok(text)
}
