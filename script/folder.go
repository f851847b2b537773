package script

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// DefaultPath is a script's PATH when the node itself has none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environ is a process's whole environment as sorted KEY=value: the task's,
// and what every process gets: PATH (the node's own, for that is where Check
// looks for commands), HOME and PWD (the work folder), TMPDIR (its tmp) and
// LANG (C.UTF-8). extra comes between the two.
func Environ(task Task, extra map[string]string) []string {
	env := map[string]string{
		"PATH": DefaultPath, "HOME": task.Dir, "PWD": task.Dir,
		"TMPDIR": filepath.Join(task.Dir, "tmp"), "LANG": "C.UTF-8",
	}
	if path := os.Getenv("PATH"); path != "" {
		env["PATH"] = path
	}
	for _, more := range []map[string]string{extra, task.Env} {
		for key, value := range more {
			env[key] = value
		}
	}
	list := make([]string, 0, len(env))
	for key, value := range env {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return list
}

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
