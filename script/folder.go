package script

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// DefaultPath is a script's PATH when the node itself has none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environ is a process's whole environment as sorted KEY=value: the task's,
// and what every process gets: PATH (the node's own, for that is where Check
// looks for commands), HOME and PWD (the work folder), TMPDIR (its tmp) and
// LANG (C.UTF-8). extra comes between the two.
func Environ(task Task, extra map[string]string) []string {
	env := map[string]string{
		"HOME": task.Dir, "PWD": task.Dir,
		"TMPDIR": filepath.Join(task.Dir, "tmp"), "LANG": "C.UTF-8",
	}
	env["PATH"] = cmp.Or(os.Getenv("PATH"), DefaultPath)
	for _, more := range []map[string]string{extra, task.Env} {
		for key, value := range more {
			env[key] = value
		}
	}
	if own := programFolder(); own != "" && !slices.Contains(filepath.SplitList(env["PATH"]), own) {
		env["PATH"] += string(filepath.ListSeparator) + own
	}
	list := make([]string, 0, len(env))
	for key, value := range env {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return list
}

// programFolder is where the node's own program lies: scripts find its commands at the
// end of their PATH, if nothing of that name comes before.
var programFolder = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil || !strings.HasPrefix(filepath.Base(path), "ramet") || strings.ContainsRune(path, filepath.ListSeparator) {
		return ""
	}
	return filepath.Dir(path)
})

// WriteFiles puts the script into its work folder as name, executable, makes
// the folder for temporary files, and returns the script's path.
func WriteFiles(task Task, name string) (string, error) {
	if err := os.Mkdir(filepath.Join(task.Dir, "tmp"), 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("prepare work folder of job %q: %w", task.Name, err)
	}
	path := filepath.Join(task.Dir, name)
	if err := os.WriteFile(path, []byte(task.Script), 0o700); err != nil {
		return "", fmt.Errorf("write script of job %q: %w", task.Name, err)
	}
	return path, nil
}
