---@meta files

--- `panto.ext.files`: files and trees, for tools. Paths are absolute, or from the directory of the
--- process, and of any bytes.
---
--- Misuse raises at the caller and names the argument. What may happen to correct code is
--- `nil, message, code`. Functions marked `async` work on other threads while the coroutine waits;
--- they give `nil, "cancelled", "cancelled"` once the turn that they run for is asked to stop.
---@class panto.ext.files
local files = {}

--- Why something failed, as far as code may want to tell.
---@alias panto.ext.files.Code
---| "not_found"
---| "is_directory"
---| "not_a_file" a pipe, a socket, a device
---| "too_large"
---| "binary"
---| "unencodable" a character that the encoding lacks
---| "exists"
---| "changed" the file is not what was expected
---| "read_only"
---| "links" a circle of links
---| "pattern"
---| "type"
---| "cancelled"
---| "io" what the system said, in the message

---@alias panto.ext.files.Encoding "utf-8"|"utf-8-bom"|"utf-16le"|"utf-16be"|"latin-1"
---@alias panto.ext.files.Newline "none"|"lf"|"crlf"|"mixed"

--- Reads a file whole.
---@async
---@param path string
---@param options { max_bytes: integer? }? by default 64 MiB
---@return string? bytes
---@return string fingerprint equal for equal bytes, in this process; or the message
---@return panto.ext.files.Code? code
function files.read(path, options) end

--- Reads some lines of a text file, or what else it is.
---@async
---@param path string
---@param options panto.ext.files.LinesOptions?
---@return panto.ext.files.Lines? lines
---@return string? message
---@return panto.ext.files.Code? code
function files.lines(path, options) end

---@class panto.ext.files.LinesOptions
---@field offset integer? the first line, counted from 1
---@field limit integer? how many lines; by default 2000
---@field max_bytes integer? how many bytes together, but at least a line; by default 64 KiB
---@field max_line_bytes integer? longer lines are cut; by default 2000

---@class panto.ext.files.Lines
---@field kind "text"|"media"|"binary" media are images and PDF, told by their bytes
---@field size integer in bytes
---@field fingerprint string
---@field lines string[]? without what ends them
---@field first integer? the number of the first line
---@field total integer? how many lines the file has
---@field cut table<integer, integer>? the whole length of lines that were cut, by position in `lines`
---@field encoding panto.ext.files.Encoding?
---@field newline panto.ext.files.Newline?
---@field is_lossy boolean? bytes that are not UTF-8 were replaced
---@field ends_with_newline boolean?
---@field media_type string?
---@field data string? the bytes of media

--- Reads bytes as text.
---@param bytes string
---@return panto.ext.files.Decoded? decoded
---@return string? message
---@return panto.ext.files.Code? code
function files.decode(bytes) end

---@class panto.ext.files.Decoded
---@field text string without a byte order mark
---@field encoding panto.ext.files.Encoding
---@field newline panto.ext.files.Newline
---@field is_lossy boolean

--- Writes text as bytes, behind the byte order mark that the encoding has.
---@param text string
---@param encoding panto.ext.files.Encoding
---@return string? bytes
---@return string? message
---@return panto.ext.files.Code? code
function files.encode(text, encoding) end

--- Puts bytes in the place of a file's, in one step, and on disk. A link stays and what it leads to
--- is replaced; an existing file keeps its mode.
---@async
---@param path string
---@param bytes string
---@param options panto.ext.files.ReplaceOptions?
---@return panto.ext.files.Replaced? replaced
---@return string? message
---@return panto.ext.files.Code? code
function files.replace(path, bytes, options) end

---@class panto.ext.files.ReplaceOptions
---@field expect string|false|nil a fingerprint that the file must have; false: there must be none
---@field create_parents boolean?
---@field mode integer? of the file; by default its own, or 0666 less the process's mask

---@class panto.ext.files.Replaced
---@field path string what a link led to
---@field fingerprint string
---@field is_new boolean

--- The difference of two texts as a unified diff.
---@async
---@param old string
---@param new string
---@param options panto.ext.files.DiffOptions?
---@return panto.ext.files.Difference? difference
---@return string? message
---@return panto.ext.files.Code? code
function files.diff(old, new, options) end

---@class panto.ext.files.DiffOptions
---@field context integer? unchanged lines around a change; by default 3
---@field name string? of the file, for a header
---@field max_bytes integer? of the text; by default 1 MiB
---@field time_limit_ms integer? after which the difference is no longer the smallest; by default 500

---@class panto.ext.files.Difference
---@field text string
---@field added integer lines
---@field removed integer lines
---@field hunks_left_out integer for `max_bytes`

--- Looks for a pattern in a file, or in the files of a tree. Of more matches than are wanted those
--- are given that come first by path and line.
---@async
---@param options panto.ext.files.SearchOptions
---@return panto.ext.files.Found? found
---@return string? message
---@return panto.ext.files.Code? code
function files.search(options) end

---@class panto.ext.files.Selection
---@field globs string[]? one must match, those with `!` must not; without a slash for names
---@field hidden boolean? also what begins with a dot
---@field ignored boolean? also what `.gitignore` names, and `.git`
---@field depth integer? how deep

---@class panto.ext.files.SearchOptions: panto.ext.files.Selection
---@field pattern string a regular expression of Rust's, for single lines
---@field path string
---@field literal boolean? the pattern is a text
---@field ignore_case boolean?
---@field types string[]? ripgrep's names for kinds of files
---@field before integer? lines before each match
---@field after integer? lines behind each match
---@field limit integer? matches; by default 1000
---@field max_bytes integer? of all lines; by default 1 MiB
---@field max_line_bytes integer? longer lines are cut to where the match is; by default 500

---@class panto.ext.files.Found: panto.ext.files.Unreadable
---@field files { path: string, lines: panto.ext.files.Line[] }[]
---@field matches integer
---@field is_cut boolean there may be more
---@field binary integer files that were left out

---@class panto.ext.files.Line
---@field line integer
---@field text string
---@field is_context boolean
---@field is_cut boolean

---@class panto.ext.files.Unreadable
---@field unreadable integer how many could not be read
---@field unreadable_example string? one of them, with the reason

--- Finds what is in a tree, in the order of paths.
---@async
---@param options panto.ext.files.WalkOptions
---@return panto.ext.files.Walked? walked
---@return string? message
---@return panto.ext.files.Code? code
function files.walk(options) end

---@class panto.ext.files.WalkOptions: panto.ext.files.Selection
---@field path string
---@field kind panto.ext.files.Kind?
---@field limit integer? by default 10000
---@field max_visited integer? how many entries are looked at; then what is found depends on chance

---@alias panto.ext.files.Kind "file"|"directory"|"link"|"other"

---@class panto.ext.files.Walked: panto.ext.files.Unreadable
---@field entries { path: string, kind: panto.ext.files.Kind }[]
---@field total integer how many there are

--- Paths that are there and look like one that is not, the most alike first.
---@async
---@param path string
---@param limit integer? by default 3
---@return string[]? paths
---@return string? message
---@return panto.ext.files.Code? code
function files.nearest(path, limit) end

return files
