package scripttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stranger is the test program's name in a work folder.
const stranger = "stranger"

// attempt is one thing that a script must not get done.
type attempt struct {
	name string
	// try tells why it could not be done; nil is an escape.
	try func(w *world) error
	// walled, open and openRoot are why the level does not promise to hold it,
	// openRoot where the node is root. What walled does not hold, open does not.
	walled, open, openRoot string
}

// attempts are all of them, of the escape files.
var attempts = func() (all []attempt) {
	for _, some := range [][]attempt{fileAttempts, processAttempts, socketAttempts, kernelAttempts, roomAttempts} {
		all = append(all, some...)
	}
	return all
}()

// impossible is the error of an attempt that cannot be made here.
type impossible string

func (i impossible) Error() string { return string(i) }

// init makes this program a stranger where it is started as one.
func init() {
	if filepath.Base(os.Args[0]) != stranger {
		return
	}
	runtime.LockOSThread() // some of what is tried is of a thread
	if err := strange(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// strange does what its arguments say.
func strange(args []string) error {
	w, err := readWorld()
	if err != nil {
		return err
	}
	switch args[0] {
	case "try":
		return tryAll(w)
	case "victim":
		return beVictim(w)
	case "replace":
		return replaceResult(w, args[1])
	case "leave":
		return leave(args[1], args[2])
	case "hop":
		return hop(args[1], args[2])
	case "stay":
		return stay()
	case "forks":
		return forks()
	case "tangle":
		return tangle()
	case "chroot":
		return unix.Chroot(".")
	case "nothing":
		return nil
	}
	return fmt.Errorf("stranger: %q?", args)
}

func readWorld() (*world, error) {
	text, err := os.ReadFile("input.json")
	if err != nil {
		return nil, err
	}
	w := new(world)
	return w, json.Unmarshal(text, w)
}

// tryAll makes all attempts and writes what came of each into the result file.
func tryAll(w *world) error {
	result, err := os.Create("result")
	if err != nil {
		return err
	}
	defer result.Close()
	for _, a := range attempts {
		if _, err := fmt.Fprintf(result, "%s=%s\n", a.name, oneLine(outcomeOf(a, w))); err != nil {
			return err
		}
	}
	return nil
}

func outcomeOf(a attempt, w *world) string {
	err := a.try(w)
	var reason impossible
	var done through
	switch {
	case err == nil:
		return "done: without an error"
	case errors.As(err, &done):
		return "done: " + done.Error()
	case errors.As(err, &reason):
		return "skip: " + reason.Error()
	default:
		return "held: " + err.Error()
	}
}

func oneLine(text string) string {
	return strings.ToValidUTF8(strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace(text), "?")
}

// through is the error of an attempt that was not held: it says what it got.
type through string

func (t through) Error() string { return string(t) }

// refused turns the result of a system call that was given nonsense into an
// error only where the call itself was refused; to be told what is wrong with the
// arguments is to have been let in.
func refused(errno syscall.Errno) error {
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT:
		return errno
	case 0:
		return through("it did")
	}
	return through("the kernel looked at it: " + errno.Error())
}
