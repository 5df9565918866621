package builtin

import (
	"io/fs"
	"os"
)

// Filesystem returns the built-in server for the files under root. Its tools have the names of the well-known
// filesystem server. A path is relative to the root and has one spelling only ("notes/a.md", never "./notes/a.md",
// "notes//a.md" or "/notes/a.md"), so that a rule about a path covers every use of the file; the root itself is ".".
// [os.Root] keeps tools inside the root, also for symbolic links. The caller closes the root.
//
// Each use of a tool begins with guard. The function that guard returns judges every file and folder on the way: the
// tool does not open, list, write, move or delete what it returns an error for, nor anything below. An error of guard
// itself ends the use. Nil guards nothing.
func Filesystem(root *os.Root, guard func() (func(fs.FileInfo) error, error)) Server {
	f := &filesystem{root: root, guard: guard}
	return Server{
		Name:         "filesystem",
		Instructions: `Paths are relative to the granted directory, which is "."; they are written with slashes and without "..".`,
		Tools: []Tool{
			tool("read_text_file", using(f, (*operation).readText)),
			tool("read_media_file", using(f, (*operation).readMedia)),
			tool("read_multiple_files", using(f, (*operation).readMany)),
			tool("list_directory", using(f, (*operation).list)),
			tool("directory_tree", using(f, (*operation).tree)),
			tool("search_files", using(f, (*operation).search)),
			tool("get_file_info", using(f, (*operation).info)),
			tool("write_file", changing(f, (*operation).write)),
			tool("edit_file", changing(f, (*operation).edit)),
			tool("create_directory", changing(f, (*operation).mkdir)),
			tool("move_file", changing(f, (*operation).move)),
			tool("delete_file", changing(f, (*operation).remove)),
		},
	}
}
