---@meta panto.ext

--- What `panto.ext` has for data: frontmatter, TOML, JSON Schema, code with colours, styles.
---@class panto.ext
local ext = {}

--- Reads the YAML between the `---` at the head of a Markdown text, leniently: what is plain in
--- meaning is recovered, and said.
---
--- Whoever has no schema gets text: a value is a string as it was written, but `true`, `false` and
--- whole numbers in their usual form, whose `tostring` is what was written. `yes`, `1.0` and `007`
--- are strings. An empty value and `null` are nil. Lists are arrays as `json.array` marks them.
---@param text string the bytes of a file
---@return table<string, any>? data nil without frontmatter
---@return string? body what is behind the closing fence, or all of it; nil if the text is unusable
---@return panto.ext.Diagnostic[] diagnostics by line
function ext.frontmatter(text) end

--- Something that was found in a text. Tell them apart by `code`.
---@class panto.ext.Diagnostic
---@field level "error"|"warning"|"info" an error says why there is no body
---@field code string such as `not_yaml`, `duplicate_key`, `control_characters`
---@field message string one line
---@field line integer from 1
---@field column integer in characters from 1

--- Reads a TOML document. Dates and times are strings.
---@param text string
---@return table<string, any>? document
---@return string? message with line and column
function ext.toml(text) end

--- Checks a value against a JSON Schema; what `json.encode` takes is a value. References reach no
--- file and no network.
---@param schema table|boolean at most a mebibyte as JSON
---@param value any an empty table is an object unless `json.array` marks it
---@return true? valid
---@return string? message a problem a line, or what is wrong with the schema
---@return panto.ext.Problem[]? problems up to twenty; nil if the schema is wrong
function ext.validate(schema, value) end

--- What a schema refuses in a value.
---@class panto.ext.Problem
---@field pointer string JSON pointer into the value, empty for the value itself
---@field keyword string of the schema
---@field message string one line

--- Gives code the colours of its language, with the styles `syntax.…`; control characters are
--- taken out. What is in no known language, too long or too slow has no colours.
---@param body string
---@param slug string? a language's name or file extension, as behind the fence of a block
---@return string
function ext.highlight(body, slug) end

--- Gives all styles by name, or one; or sets one, whole. A style outlives the session.
---@param name string? letters, digits, `.`, `_`, `-`
---@param values panto.ext.StyleValues?
---@return panto.ext.Style|table<string, panto.ext.Style>|nil style
---@return string? message
function ext.style(name, values) end

--- How to show text. A colour is `#rrggbb`, a number up to 255, or a name: `red`, `bright_red`, ….
---@class panto.ext.StyleValues
---@field fg (string|integer)?
---@field bg (string|integer)?
---@field bold boolean?
---@field dim boolean?
---@field italic boolean?
---@field underline boolean?
---@field reverse boolean?
---@field strikethrough boolean?
---@field open string? not read
---@field close string? not read

--- A style, with the escape sequences that begin and end it.
---@class panto.ext.Style: panto.ext.StyleValues
---@field open string
---@field close string

return ext
