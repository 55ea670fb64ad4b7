std = "lua54"
max_line_length = 100
files["rocks/*/spec"] = { std = "+busted", read_globals = { "pause" } }
