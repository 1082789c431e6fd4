//! Result files: each appears whole or not at all.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anabranch_sim::Columns;

use crate::failure::Failure;

/// Whether a path is `-`: standard input where a file is read, standard output where one is written.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a file beside its final name, then renames it, so that an interruption leaves no half of it; or standard output.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    if is_standard(path) {
        let mut out = BufWriter::new(std::io::stdout().lock());
        return fill(&mut out).and_then(|()| out.flush()).map_err(|error| Failure::printing(&error));
    }
    let (part, file) = Part::create(path)?;
    let mut out = BufWriter::new(file);
    fill(&mut out).and_then(|()| out.flush()).map_err(|error| Failure::writing(path, &error))?;
    part.keep()
}

/// Begins a file that grows while the program runs.
pub(crate) fn begin(path: &Path) -> Result<File, Failure> {
    create(path, path, File::options().write(true).create(true).truncate(true))
}

/// Opens a file to append to it.
pub(crate) fn append(path: &Path) -> Result<File, Failure> {
    create(path, path, File::options().append(true).create(true))
}

/// Opens `at`, which errors call `path`. A missing folder is not made, as its name may be a slip: the error has the command to make it.
fn create(path: &Path, at: &Path, how: &OpenOptions) -> Result<File, Failure> {
    has_folder(path)?;
    how.open(at).map_err(|error| Failure::writing(path, &error))
}

/// Refuses a file whose folder is not there.
pub(crate) fn has_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.exists() => {
            let (path, folder) = (path.display(), folder.display());
            Err(Failure::wrong(format!("{path}: there is no folder {folder}: mkdir -p {folder}")))
        }
        _ => Ok(()),
    }
}

/// A file that is being written beside its final name. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Part {
    /// The temporary file that is renamed to `path` at the end; `None` where `path` is a device or a pipe, which a file
    /// must not replace.
    beside: Option<PathBuf>,
    path: PathBuf,
}

impl Part {
    /// Begins a file.
    pub(crate) fn create(path: &Path) -> Result<(Self, File), Failure> {
        if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = create(path, path, File::options().write(true))?;
            return Ok((Self { beside: None, path: path.to_owned() }, file));
        }
        let mut beside = OsString::from(path.as_os_str());
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let file = create(path, &beside, File::options().write(true).create(true).truncate(true))?;
        Ok((Self { beside: Some(beside), path: path.to_owned() }, file))
    }

    /// The file is whole: it gets its name.
    pub(crate) fn keep(mut self) -> Result<(), Failure> {
        let Some(beside) = self.beside.take() else { return Ok(()) };
        std::fs::rename(&beside, &self.path).map_err(|error| {
            let _ = std::fs::remove_file(&beside);
            Failure::writing(&self.path, &error)
        })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = std::fs::remove_file(beside);
        }
    }
}

/// Refuses a file that two outputs would go to; each output comes with the name of its option.
pub(crate) fn distinct<'a>(outputs: impl IntoIterator<Item = (&'a str, PathBuf)>) -> Result<(), Failure> {
    let mut known: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for (what, path) in outputs {
        if let Some(other) = known.insert(place(&path), what) {
            return Err(Failure::wrong(if is_standard(&path) {
                format!("{other} and {what} would both go to standard output; give one of them a file")
            } else {
                format!("{}: {other} and {what} both name this file", path.display())
            }));
        }
    }
    Ok(())
}

/// One name for a file, however it is written.
fn place(path: &Path) -> PathBuf {
    if is_standard(path) {
        return path.to_owned();
    }
    if let Ok(there) = path.canonicalize() {
        return there;
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Makes a directory, with those above it.
pub(crate) fn directory(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| Failure::writing(path, &error))
}

/// Where the file of one seed goes. A directory (existing, or written with a slash at its end) holds
/// `STEM-SEED.EXTENSION`; a file name is taken as it is for a single run, and gets `-SEED` before its extension for
/// several.
pub(crate) fn for_seed(path: &Path, stem: &str, extension: &str, seed: u64, several: bool) -> PathBuf {
    if is_standard(path) {
        return path.to_owned();
    }
    if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return path.join(format!("{stem}-{seed}.{extension}"));
    }
    if !several {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{seed}"));
    if let Some(kept) = path.extension() {
        name.push(".");
        name.push(kept);
    }
    path.with_file_name(name)
}

/// A trace as comma-separated values: one line for each event, names instead of numbers. No name holds a comma.
pub(crate) fn trace(columns: &Columns, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "time_ns,entity,kind,flow,subflow,path,reason,seq,size,a,b,c")?;
    let kinds = Columns::kinds();
    let reasons = Columns::reasons();
    let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
    for row in 0..columns.len() {
        let at = |column: &[u64]| column.get(row).copied().unwrap_or(0);
        let small = |column: &[u8]| column.get(row).copied().unwrap_or(0);
        let word = |column: &[u32]| column.get(row).copied().unwrap_or(0);
        let entity = columns.entity.get(row).map_or(0, |&index| usize::from(index));
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            at(&columns.time_ns),
            name(&columns.entities, entity),
            kinds.get(usize::from(small(&columns.kind))).unwrap_or(&""),
            usize::try_from(word(&columns.flow))
                .map_or_else(|_| String::new(), |index| name(&columns.flows, index)),
            small(&columns.subflow),
            small(&columns.path),
            reasons.get(usize::from(small(&columns.reason))).unwrap_or(&""),
            at(&columns.seq),
            word(&columns.size),
            at(&columns.a),
            at(&columns.b),
            at(&columns.c),
        )?;
    }
    Ok(())
}
