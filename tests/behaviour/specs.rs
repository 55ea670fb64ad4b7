//! The specs of the rocks, `rocks/*/spec/*_spec.lua`, each run in a session of the program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Machine, Ran};

const HARNESS: &str = include_str!("specs/harness.lua");

/// A command that runs the specs of a file. What lies in `rocks` counts before what is installed.
const COMMAND: &str = r#"
local panto = require("panto")
local harness = require("harness")

return {
  name = "specs",
  activate = function()
    local settings = panto.ext.settings("specs")
    package.path = ("%s/?.lua;%s/?/init.lua;"):format(settings.rocks, settings.rocks) .. package.path
    panto.ext.register_command({
      name = "specs",
      description = "Runs the specs of a file.",
      handler = function(file)
        local report, examples, failures = harness.run(file, settings.scratch, require)
        local text = ("%s\n%d examples, %d failures"):format(report, examples, failures)
        return { text = text, exit_code = (failures > 0 or examples == 0) and 1 or 0 }
      end,
    })
  end,
}
"#;

fn rocks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../rocks")
        .canonicalize()
        .unwrap()
}

/// Runs a file of specs, for which only `rocks` is there.
fn run(spec: &Path) -> Ran {
    let machine = Machine::without_config();
    let scratch = machine.root().join("scratch");
    fs::create_dir(&scratch).unwrap();
    machine.write_config(&format!(
        "[extensions.settings.specs]\nrocks = {:?}\nscratch = {:?}\n",
        rocks(),
        scratch
    ));
    machine.file("home/.config/panto/extensions/specs/init.lua", COMMAND);
    machine.file("home/.config/panto/extensions/specs/harness.lua", HARNESS);
    machine.run(&["x", "specs", spec.to_str().unwrap()])
}

/// All files of specs, by rock.
fn all() -> Vec<PathBuf> {
    let children = |dir: PathBuf| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut specs: Vec<PathBuf> = children(rocks())
        .into_iter()
        .flat_map(|rock| children(rock.join("spec")))
        .filter(|path| path.to_string_lossy().ends_with("_spec.lua"))
        .collect();
    specs.sort();
    specs
}

#[test]
fn every_spec_of_every_rock_holds() {
    let specs = all();
    assert!(!specs.is_empty(), "no specs are found");
    let mut failed = String::new();
    for spec in specs {
        let ran = run(&spec);
        if ran.code != Some(0) {
            failed.push_str(&format!("{}\n{}\n", spec.display(), ran.shown()));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

/// Runs specs that are not of a rock.
fn run_text(text: &str) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    let spec = dir.path().join("some_spec.lua");
    fs::write(&spec, text).unwrap();
    run(&spec)
}

#[test]
fn a_spec_that_fails_is_told_and_keeps_no_other_from_running() {
    let ran = run_text(
        r#"describe("sums", function()
  it("are wrong", function()
    assert.equal(3, 1 + 1)
  end)
  it("are compared whole", function()
    assert.same({ 1, { a = "b" } }, { 1, { a = "c" } })
  end)
  it("may be more than was meant", function()
    assert.same({ 1 }, { 1, 2 })
  end)
  it("are right", function(dir)
    assert.equal(2, 1 + 1)
    assert(require("luv").fs_stat(dir).type == "directory")
  end)
  it("raise", function()
    error("what is this?")
  end)
end)
"#,
    );
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    for part in [
        "FAILED sums are wrong\n",
        "some_spec.lua:3: expected 3, got 2",
        "some_spec.lua:6: expected { 1, { a = \"b\" } }, got { 1, { a = \"c\" } }",
        "some_spec.lua:9: expected { 1 }, got { 1, 2 }",
        "ok sums are right\n",
        "some_spec.lua:16: what is this?",
        "5 examples, 4 failures",
    ] {
        assert!(ran.stdout.contains(part), "no {part:?}:\n{}", ran.shown());
    }
}

#[test]
fn a_spec_that_cannot_be_read_or_is_empty_fails() {
    for (text, why) in [
        ("it(\"x\", function(", "some_spec.lua:1:"),
        ("require(\"no.such.module\")", "no.such.module"),
        ("local nothing = 1", "0 examples"),
    ] {
        let ran = run_text(text);
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
        assert!(ran.stdout.contains(why), "no {why:?}:\n{}", ran.shown());
    }
}
