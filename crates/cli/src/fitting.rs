//! Tables that fit a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A column: its head and a cell for each row.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) cells: Vec<String>,
    pub(crate) alignment: CellAlignment,
}

impl Column {
    pub(crate) fn new(head: impl Into<String>, cells: Vec<String>, alignment: CellAlignment) -> Self {
        Self { head: head.into(), cells, alignment }
    }

    /// Characters that it takes in a line: a space on both sides, and a bar.
    fn width(&self) -> usize {
        let longest = self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        longest.max(self.head.chars().count()) + 3
    }
}

/// A table, or several below each other where one would be wider than `width` characters: each begins with `names`, by which
/// its rows are known. In a single column that is too wide cells go over several lines.
pub(crate) fn fit(names: &[Column], columns: &[Column], width: Option<usize>) -> Vec<String> {
    let fixed = 1 + names.iter().map(Column::width).sum::<usize>();
    let mut done = Vec::new();
    let mut rest = columns;
    loop {
        let mut used = fixed;
        let fitting = rest.iter().take_while(|column| {
            used += column.width();
            width.is_none_or(|width| used <= width)
        });
        let count = fitting.count().max(1).min(rest.len());
        let (now, later) = rest.split_at(count);
        let needed = fixed + now.iter().map(Column::width).sum::<usize>();
        done.push(table(names, now, width.filter(|width| *width < needed)));
        rest = later;
        if rest.is_empty() {
            return done;
        }
    }
}

fn table(names: &[Column], columns: &[Column], squeezed: Option<usize>) -> String {
    let all = || names.iter().chain(columns);
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(all().map(|column| column.head.clone()));
    if let Some(width) = squeezed {
        let width = u16::try_from(width).unwrap_or(u16::MAX);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    let rows = all().map(|column| column.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        table.add_row(all().map(|column| column.cells.get(row).cloned().unwrap_or_default()));
    }
    for (at, column) in all().enumerate() {
        if let Some(shown) = table.column_mut(at) {
            shown.set_cell_alignment(column.alignment);
        }
    }
    table.to_string()
}
