//! One page with every kernel: text, style and script in one file, which needs no network. Its tables read without the script too;
//! listings, which are most of it, are compressed, and the script unpacks each when it is opened.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::listing::{self, Row};
use super::report::{self, Launch};
use super::{Kernel, latest};
use crate::table;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What goes on the page.
pub struct Page<'p> {
    pub crate_name: &'p str,
    /// Ordered by name, then architecture.
    pub kernels: &'p [Kernel<'p>],
    pub launch: Launch,
}

/// Listings besides that of the machine code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listings {
    pub ptx: bool,
    pub llvm: bool,
}

impl Page<'_> {
    /// The page. `points` gives what is known of a kernel's speed, in words.
    pub fn write(&self, listings: Listings, points: impl Fn(&Kernel<'_>) -> String) -> String {
        let mut page = String::new();
        self.body(&mut page, listings, points).expect("strings take all");
        page
    }

    fn body(&self, page: &mut String, listings: Listings, points: impl Fn(&Kernel<'_>) -> String) -> fmt::Result {
        let title = format!("Kernels of {}", escaped(self.crate_name));
        writeln!(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
        writeln!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
        writeln!(page, "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>")?;
        writeln!(page, "<header>\n<h1>{title}</h1>")?;
        writeln!(
            page,
            "<p>Registers and memory by ptxas. Occupancy is that of blocks of {} threads where a kernel takes any (marked ?), with {} bytes of dynamic shared memory. Instructions are counted once each, however often they run.</p>",
            self.launch.threads, self.launch.dynamic_shared
        )?;
        writeln!(
            page,
            "<p><label>Search <input id=\"search\" type=\"search\" placeholder=\"words of a kernel's or module's name\"></label> <output id=\"found\"></output></p>"
        )?;
        writeln!(
            page,
            "<noscript><p>Searching, sorting and the listings need JavaScript; everything else is here.</p></noscript>\n</header>"
        )?;
        self.resources(page)?;
        for kernel in latest(self.kernels) {
            self.kernel(page, kernel, listings, &points(kernel))?;
        }
        writeln!(page, "<script>\n{SCRIPT}</script>\n</body>\n</html>")
    }

    fn resources(&self, page: &mut String) -> fmt::Result {
        writeln!(page, "<div class=\"wide\">\n<table id=\"resources\">\n<thead><tr>")?;
        report::HEADER.iter().try_for_each(|name| write!(page, "<th>{name}</th>"))?;
        writeln!(page, "</tr></thead>\n<tbody>")?;
        for kernel in self.kernels {
            write!(page, "<tr data-kernel=\"{}\">", keywords(kernel))?;
            let cells = report::row(kernel, self.launch);
            for (at, cell) in cells.iter().enumerate() {
                let cell = escaped(cell);
                match report::HEADER[at] {
                    "kernel" => write!(page, "<td><a href=\"#{cell}\">{cell}</a></td>")?,
                    "spilled" | "stack" if cell != "0" => write!(page, "<td class=\"bad\">{cell}</td>")?,
                    _ => write!(page, "<td>{cell}</td>")?,
                }
            }
            writeln!(page, "</tr>")?;
        }
        writeln!(page, "</tbody>\n</table>\n</div>")
    }

    fn kernel(&self, page: &mut String, kernel: &Kernel<'_>, listings: Listings, points: &str) -> fmt::Result {
        let name = escaped(&kernel.entry.name);
        writeln!(page, "<section id=\"{name}\" data-kernel=\"{}\">\n<h2>{name}</h2>", keywords(kernel))?;
        writeln!(page, "<p>Module {}, for {}.</p>", escaped(&kernel.module.name), kernel.module.arch)?;
        points.lines().try_for_each(|line| writeln!(page, "<p>{}</p>", escaped(line)))?;
        if let Some(sass) = &kernel.sass {
            let mix = sass.mix();
            writeln!(
                page,
                "<div class=\"wide\">\n<table>\n<tr><th>class</th><th>instructions</th><th>bytes</th><th>operations</th></tr>"
            )?;
            for (class, count) in &mix.classes {
                let bytes = mix.bytes.get(class).map_or(String::new(), u32::to_string);
                let operations = mix.operations.get(class).map_or(String::new(), |it| format!("{it:.0}"));
                writeln!(page, "<tr><td>{class}</td><td>{count}</td><td>{bytes}</td><td>{operations}</td></tr>")?;
            }
            writeln!(page, "</table>\n</div>")?;
            for body in sass.loops().iter().filter(|body| body.innermost) {
                let [start, end] = [body.range.start(), body.range.end()].map(|&at| sass.instructions[at].offset);
                writeln!(page, "<p>Loop {start:05x}..{end:05x}: {}</p>", report::mix_line(&sass.mix_of(body)))?;
            }
            let what = format!("Machine code, {}", table::count(mix.count() as usize, "instruction"));
            details(page, &what, &listing::sass(kernel))?;
        }
        if listings.ptx {
            details(page, "PTX", &listing::ptx(kernel))?;
        }
        if listings.llvm {
            details(page, "LLVM IR", &listing::llvm(kernel))?;
        }
        writeln!(page, "</section>")
    }
}

/// What the search looks at.
fn keywords(kernel: &Kernel<'_>) -> String {
    escaped(&format!("{} {} {}", kernel.entry.name, kernel.module.name, kernel.module.arch).to_lowercase())
}

fn details(page: &mut String, what: &str, rows: &[Row]) -> fmt::Result {
    let packed = packed(&listing_lines(rows)?);
    writeln!(page, "<details data-deflated=\"{packed}\">\n<summary>{what}</summary>\n<pre></pre>\n</details>")
}

fn listing_lines(rows: &[Row]) -> Result<String, fmt::Error> {
    let mut lines = String::new();
    for row in rows {
        match row {
            Row::Source { place, text } => writeln!(lines, "<b>{}</b> {}", escaped(place), escaped(text))?,
            Row::Code { text, inside: None } => writeln!(lines, "{}", escaped(text))?,
            Row::Code { text, inside: Some(inside) } => {
                // The style's tab stop keeps these in a column.
                writeln!(lines, "{}\t<i>{}</i>", escaped(text), escaped(inside))?;
            }
        }
    }
    Ok(lines)
}

/// The bare stream of deflate (RFC 1951) in base64.
fn packed(text: &str) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).expect("a vector takes all");
    STANDARD.encode(encoder.finish().expect("a vector takes all"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use cuda_builder::manifest::{Entry, Module};

    use super::super::Text;
    use super::super::locations::Locations;
    use super::super::sass;
    use super::*;

    fn page(listings: Listings) -> String {
        let entry = Entry {
            name: "map<\"f32\">".into(),
            parameters: Vec::new(),
            reqntid: None,
            maxntid: None,
            minctasm: None,
            maxnreg: None,
            cluster: None,
            static_shared_bytes: 0,
        };
        let module = Module {
            name: "map".into(),
            arch: cuda_builder::Arch::SM_90A,
            ptx_isa: "8.0".parse().unwrap(),
            file: "sm_90a/map.ptx".into(),
            cubin: None,
            entries: vec![entry],
        };
        let text = Text {
            ptx: ".entry map<\"f32\">(\n{\n  a < b;\n}\n".into(),
            llvm_ir: String::new(),
            locations: Locations::default(),
        };
        let sass = sass::parse(".text.map:\n  /*0000*/ FFMA R0, R1, R2, R3 ;\n  /*0010*/ EXIT ;\n").remove("map");
        let kernel = Kernel { module: &module, entry: &module.entries[0], text: &text, usage: None, sass };
        let launch = Launch { threads: 256, dynamic_shared: 0 };
        Page { crate_name: "a & b", kernels: &[kernel], launch }.write(listings, |_| "1 < 2 TB/s\n".into())
    }

    fn listings(page: &str) -> Vec<String> {
        let deflated = page.split("data-deflated=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let unpacked = deflated.map(|base64| {
            let bytes = STANDARD.decode(base64).unwrap();
            std::io::read_to_string(flate2::read::DeflateDecoder::new(&bytes[..])).unwrap()
        });
        unpacked.collect()
    }

    /// Every element that is opened is closed, in order.
    fn check_nesting(page: &str) {
        let bare = page.split("<style>").next().unwrap().to_owned() + page.split("</style>").nth(1).unwrap();
        let bare = bare.split("<script>").next().unwrap().to_owned() + bare.split("</script>").nth(1).unwrap();
        let mut open = Vec::new();
        for tag in bare.split('<').skip(1) {
            let name: String = tag.chars().take_while(|it| it.is_alphanumeric() || *it == '/').collect();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop().as_deref(), Some(name), "in {tag}"),
                None if ["meta", "input", ""].contains(&name.as_str()) => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn the_page_is_well_formed_complete_and_needs_nothing_else() {
        let page = page(Listings { ptx: true, llvm: true });
        check_nesting(&page);
        assert!(
            page.contains("<h1>Kernels of a &amp; b</h1>") && page.contains("map&lt;&quot;f32&quot;&gt;"),
            "{page}"
        );
        assert!(page.contains("1 &lt; 2 TB/s"));
        let [machine_code, ptx, llvm] = &listings(&page)[..] else { panic!("{page}") };
        assert!(machine_code.contains("FFMA R0, R1, R2, R3") && ptx.contains("  a &lt; b;"), "{machine_code}{ptx}");
        assert!(llvm.is_empty(), "{llvm}");
        for elsewhere in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
        // Without its script nothing is hidden, and the page says what is lacking.
        assert!(page.contains("<noscript>") && !page.contains(" hidden"), "{page}");
    }
}
