//! Embeds `dist`, the page as it was built from `web/app`: every file as it is and packed, the paths
//! of pages, and one hash over all of it, which is part of the addresses of files.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=dist");
    println!("cargo::rerun-if-changed=build.rs");
    let dist = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("dist");
    let out = variable("OUT_DIR")?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&dist)? {
        let name = entry?.file_name();
        names.push(name.into_string().map_err(|_| missing("a name of a file that is no text"))?);
    }
    names.sort();
    for needed in ["index.html", "app.js", "routes.txt"] {
        if !names.iter().any(|name| name == needed) {
            return Err(missing(&format!("dist/{needed}: run `npm run build` in web/app")));
        }
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut code = String::from("/// Every file of the page.\nstatic FILES: &[File] = &[\n");
    for name in &names {
        let bytes = fs::read(dist.join(name))?;
        for byte in name.bytes().chain(bytes.iter().copied()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        let packed = Path::new(&out).join(format!("{name}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes)?;
        fs::write(&packed, encoder.finish()?)?;
        let plain = dist.join(name);
        let _ = writeln!(
            code,
            "    File {{ name: {name:?}, bytes: include_bytes!({plain:?}), gzip: include_bytes!({packed:?}) }},"
        );
    }
    code.push_str("];\n/// The paths of pages: a part that begins with a colon is any.\nstatic ROUTES: &[&str] = &[\n");
    for route in fs::read_to_string(dist.join("routes.txt"))?.lines() {
        let _ = writeln!(code, "    {route:?},");
    }
    let _ = writeln!(code, "];\n/// A hash over all files.\nstatic HASH: &str = \"{hash:016x}\";");
    fs::write(Path::new(&out).join("embedded.rs"), code)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|_| missing(name))
}

fn missing(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no {what}"))
}
