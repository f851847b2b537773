// Package cmdline takes a process's arguments and environment, and leaves no
// secret in what others of the machine see of them: arguments are for everybody
// to read, and the environment is handed on to children.
package cmdline

import (
	"os"
	"strings"
)

// Take returns copies of the program's arguments and of the variables that
// secret names. From then on the process itself shows the arguments as hide
// gives them, cut to the length they had, and has the variables no longer: not
// for its children either. On other systems than Linux the arguments stay.
//
// Call it first of all: what was not copied changes.
func Take(hide func(arg string) string, secret ...string) (args []string, env map[string]string) {
	shown := make([]string, len(os.Args))
	for i, arg := range os.Args {
		args = append(args, strings.Clone(arg))
		shown[i] = cut(hide(arg), len(arg))
	}
	env = map[string]string{}
	for _, name := range secret {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = strings.Clone(value)
			_ = os.Unsetenv(name) // of a name that is one it cannot fail
		}
	}
	overwrite(args, shown, env)
	return args, env
}

// cut fits a text into n bytes.
func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text + strings.Repeat(" ", n-len(text))
}
