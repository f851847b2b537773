package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Library is what the scripts of a runtime import as "ramet": files that are put into
// the work folders of those that do. The zero Library is none.
type Library struct {
	// Files are texts by their paths in the work folder.
	Files map[string]string
	// Variable, where it is not "", is set to the folder Path in the work folder, before what
	// the script has there already: a search path.
	Variable, Path string
}

// libraryName is the name of the module in all languages.
const libraryName = "ramet"

// Add puts the library into the work folder of a script that names it, and sets the variable.
func (l Library) Add(task *Task) error {
	if len(l.Files) == 0 || !strings.Contains(task.Script, libraryName) {
		return nil
	}
	for name, text := range l.Files {
		path := filepath.Join(task.Dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the library of job %q: %w", task.Name, err)
		}
	}
	if l.Variable != "" {
		path := filepath.Join(task.Dir, l.Path)
		if old := task.Env[l.Variable]; old != "" {
			path += string(filepath.ListSeparator) + old
		}
		task.Env[l.Variable] = path
	}
	return nil
}
