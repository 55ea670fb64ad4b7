//! Skills, prompt commands and rules in the program: what `rocks/agent` makes of them reaches the
//! model, as far as the project is trusted.

use std::fs;

use crate::support::Machine;

/// What the model is told decides what it says.
const SCRIPT: &str = r#"
[[steps]]
when = { last = "what do you know?", system = "project-skill" }
play = [{ text = "the project's skill" }]

[[steps]]
when = { last = "what do you know?", system = "given-skill" }
play = [{ text = "the given skill" }]

[[steps]]
when = { last = "what do you know?", system = "Be brief, says the project." }
play = [{ text = "the rules" }]

[[steps]]
when = { last = "use it", last_role = "user" }
play = [{ tool = "skill", input = { name = "project-skill" } }]

[[steps]]
when = { last = "Do the project's thing.", last_role = "tool" }
play = [{ text = "read the skill" }]

[[steps]]
when = { last = "User: now", last_role = "user" }
play = [{ text = "was given the skill" }]

[[steps]]
when = { last = "Please review src.", last_role = "user" }
play = [{ text = "was given the command" }]
"#;

/// A project with rules, a skill and a command, and a skill beside it.
fn machine() -> Machine {
    let machine = Machine::with_script(SCRIPT);
    for (file, text) in [
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/AGENTS.md", "Be brief, says the project."),
        (
            "work/.panto/skills/x/SKILL.md",
            "---\nname: project-skill\ndescription: d\n---\nDo the project's thing.\n",
        ),
        ("work/.panto/commands/review.md", "Please review $1.\n"),
        (
            "given/SKILL.md",
            "---\nname: given-skill\ndescription: d\n---\nDo the given thing.\n",
        ),
    ] {
        let path = machine.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    machine
}

fn answer(arguments: &[&str]) -> String {
    machine().run(arguments).answer().trim_end().to_owned()
}

#[test]
fn rules_of_any_project_and_skills_of_a_trusted_one_are_in_the_prompt() {
    let question = "what do you know?";
    assert_eq!(answer(&["-p", question]), "the rules");
    assert_eq!(answer(&["-p", question, "--trust"]), "the project's skill");
    let given = [
        "-p",
        question,
        "--trust",
        "--no-skills",
        "--skill",
        "../given",
    ];
    assert_eq!(answer(&given), "the given skill");
}

#[test]
fn the_model_reads_a_skill_and_a_person_starts_one() {
    assert_eq!(answer(&["-p", "use it", "--trust"]), "read the skill");
    let started = ["-p", "/skill:project-skill now", "--trust"];
    assert_eq!(answer(&started), "was given the skill");
}

#[test]
fn a_prompt_command_is_submitted() {
    assert_eq!(
        answer(&["-p", "/review src", "--trust"]),
        "was given the command"
    );
}
