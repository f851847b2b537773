package secret

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"
)

const (
	// MaxBytes bounds what a source gives.
	MaxBytes = 64 << 10
	// commandTime bounds a command that prints a secret.
	commandTime = 10 * time.Second
)

// ReadFile reads a file with a secret. One that all users of the machine may read is refused;
// group is told of one that is open to its group.
func ReadFile(path string, group func(mode fs.FileMode)) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("file " + path + " is no regular file")
	case info.Mode().Perm()&0o007 != 0:
		return "", errors.New("file " + path + " is open to all users of the machine: chmod 600 " + path)
	case info.Mode().Perm()&0o070 != 0:
		group(info.Mode())
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(text) > MaxBytes {
		err = errors.New("file " + path + " is larger than 64 KiB")
	}
	return string(text), err
}

// Run runs a command that prints a secret, without a shell. Errors do not say what it printed.
func Run(ctx context.Context, command, env []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = env
	cmd.WaitDelay = time.Second // for what it started and left behind
	var out bytes.Buffer
	cmd.Stdout = &limitedWriter{&out, MaxBytes}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", errors.New("command " + command[0] + ": " + err.Error())
	}
	return out.String(), nil
}

// limitedWriter takes so many bytes.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("it prints more than 64 KiB")
	}
	return w.to.Write(p)
}
