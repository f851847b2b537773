package salscript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// This file holds the functions on files and folders.

// maxReadBytes bounds what file_read and the text functions take into memory.
const maxReadBytes = 16 << 20

// fileFunctions: exist(path), copy(src, dst), ...
func (h *host) fileFunctions() []function {
	return []function{
		{"exist", exist}, {"copy", copyPath}, {"copy_bin", copyBin}, {"mv", movePath}, {"delete", deletePath}, {"mkdir", makeFolder},
		{"file_size", fileSize}, {"file_read", readText}, {"file_write", writeText}, {"file_write_append", appendText},
		{"chmod_exec", makeExecutable}, {"chdir", changeFolder}, {"rsync", h.rsync},
		{"find_file", findOne(isFile)}, {"find_files", findAll(isFile)}, {"find_dir", findOne(fs.FileMode.IsDir)}, {"find_dirs", findAll(fs.FileMode.IsDir)},
		{"which", which}, {"cmd_ensure_exists", ensureCommands},
	}
}

func exist(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// into is where src goes when it is copied or moved to dst: into a folder that
// is there, or under the name that dst gives.
func into(src, dst string) string {
	if info, err := os.Stat(dst); err == nil && info.IsDir() {
		return filepath.Join(dst, filepath.Base(src))
	}
	return dst
}

// copyPath copies a file, a folder with all in it, or what a pattern with * or
// ? matches, into the folder dst.
func copyPath(src, dst string) (string, error) {
	if strings.ContainsAny(src, "*?") {
		names, err := filepath.Glob(src)
		if err != nil || len(names) == 0 {
			return "", fmt.Errorf("copy: nothing matches %q", src)
		}
		if err := os.MkdirAll(dst, 0o755); err != nil {
			return "", err
		}
		for _, name := range names {
			if err := copyTree(name, filepath.Join(dst, filepath.Base(name))); err != nil {
				return "", fmt.Errorf("copy: %w", err)
			}
		}
		return fmt.Sprintf("Successfully copied %d items from '%s' to '%s'", len(names), src, dst), nil
	}
	info, err := os.Stat(src)
	if err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	what := "file"
	if info.IsDir() {
		what = "directory"
	}
	if err := copyTree(src, into(src, dst)); err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	return fmt.Sprintf("Successfully copied %s '%s' to '%s'", what, src, dst), nil
}

func copyTree(src, dst string) error {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return copyFile(src, dst, info.Mode().Perm())
	}
	from, _ := filepath.Abs(src)
	to, _ := filepath.Abs(dst)
	if to == from || strings.HasPrefix(to, from+"/") {
		return fmt.Errorf("%q lies within %q", dst, src)
	}
	return filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inner, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(dst, inner), entry)
	})
}

// copyEntry copies one thing of a folder, in the place of what is there. Links
// stay links; sockets, pipes and devices are left out.
func copyEntry(src, dst string, entry fs.DirEntry) error {
	switch mode := entry.Type(); {
	case mode.IsDir():
		return os.MkdirAll(dst, 0o755)
	case mode.IsRegular():
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return copyFile(src, dst, info.Mode().Perm())
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(src)
		if err != nil {
			return err
		}
		_ = os.Remove(dst)
		return os.Symlink(target, dst)
	}
	return nil
}

func copyFile(src, dst string, mode fs.FileMode) error {
	if a, err := os.Stat(src); err == nil {
		if b, err := os.Stat(dst); err == nil && os.SameFile(a, b) {
			return fmt.Errorf("%q and %q are the same file", src, dst)
		}
	}
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// binFolder is where copy_bin puts programs: the system's folders are
// read-only for jobs. It stands first in the script's PATH.
func binFolder() string { return filepath.Join(os.Getenv("HOME"), "bin") }

func copyBin(src string) (string, error) {
	dst := filepath.Join(binFolder(), filepath.Base(src))
	if err := copyFile(src, dst, 0o755); err != nil {
		return "", fmt.Errorf("copy_bin: %w", err)
	}
	return fmt.Sprintf("Successfully copied '%s' to '%s'", src, dst), os.Chmod(dst, 0o755)
}

func movePath(src, dst string) (string, error) {
	info, err := os.Stat(src)
	if err != nil {
		return "", fmt.Errorf("mv: %w", err)
	}
	to := into(src, dst)
	err = os.Rename(src, to)
	if errors.Is(err, syscall.EXDEV) { // another file system, or what Landlock takes for one: a granted folder
		if err = copyTree(src, to); err == nil {
			err = os.RemoveAll(src)
		}
	}
	if err != nil {
		return "", fmt.Errorf("mv: %w", err)
	}
	what := "file"
	if info.IsDir() {
		what = "directory"
	}
	return fmt.Sprintf("Successfully moved %s '%s' to '%s'", what, src, dst), nil
}

// deletePath removes a file, or a folder with all in it. What is not there
// needs no removing.
func deletePath(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("Nothing to delete at '%s'", path), nil
	}
	if err == nil {
		err = os.RemoveAll(path)
	}
	if err != nil {
		return "", fmt.Errorf("delete: %w", err)
	}
	what := "file"
	if info.IsDir() {
		what = "directory"
	}
	return fmt.Sprintf("Successfully deleted %s '%s'", what, path), nil
}

func makeFolder(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Sprintf("Directory '%s' already exists", path), nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", fmt.Errorf("mkdir: %w", err)
	}
	return fmt.Sprintf("Successfully created directory '%s'", path), nil
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("file_size: %w", err)
	}
	if info.IsDir() {
		return 0, fmt.Errorf("file_size: %q is a directory", path)
	}
	return info.Size(), nil
}

// readText reads a file of at most 16 MiB, which must be UTF-8.
func readText(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("file_read: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxReadBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("file_read: %w", err)
	case len(text) > maxReadBytes:
		return "", fmt.Errorf("file_read: %q has more than %d bytes", path, maxReadBytes)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

func writeText(path, content string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("file_write: %w", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return "", fmt.Errorf("file_write: %w", err)
	}
	return fmt.Sprintf("Successfully wrote to file '%s'", path), nil
}

func appendText(path, content string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("file_write_append: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return "", fmt.Errorf("file_write_append: %w", err)
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("file_write_append: %w", err)
	}
	return fmt.Sprintf("Successfully appended to file '%s'", path), nil
}

func makeExecutable(path string) (string, error) {
	if err := os.Chmod(path, 0o755); err != nil {
		return "", fmt.Errorf("chmod_exec: %w", err)
	}
	return fmt.Sprintf("Successfully made '%s' executable", path), nil
}

func changeFolder(path string) (string, error) {
	if err := os.Chdir(path); err != nil {
		return "", fmt.Errorf("chdir: %w", err)
	}
	return fmt.Sprintf("Successfully changed directory to '%s'", path), nil
}

// rsync makes dst like src: rsync -a --delete.
func (h *host) rsync(src, dst string) (string, error) {
	if _, err := h.output("rsync", "-a", "--delete", "--", src, dst); err != nil {
		return "", err
	}
	return fmt.Sprintf("Successfully synced '%s' to '%s'", src, dst), nil
}

// which gives the path of a command, "" when there is none.
func which(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// ensureCommands takes one name or several with commas between.
func ensureCommands(names string) (string, error) {
	list := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	if len(list) == 0 {
		return "", errors.New("cmd_ensure_exists: no command is named")
	}
	for _, name := range list {
		if which(name) == "" {
			return "", fmt.Errorf("cmd_ensure_exists: command '%s' was not found in PATH", name)
		}
	}
	if len(list) == 1 {
		return fmt.Sprintf("Command '%s' exists", list[0]), nil
	}
	return "All commands exist: " + strings.Join(list, ", "), nil
}

func isFile(mode fs.FileMode) bool { return mode.IsRegular() }

// maxFound bounds what find_files gives.
const maxFound = 100_000

// findAll lists what lies in dir, at any depth, and has a name that fits the
// pattern (with *, ? and [...]), in the order of the names.
func findAll(want func(fs.FileMode) bool) func(dir, pattern string) ([]string, error) {
	return func(dir, pattern string) ([]string, error) {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("find: pattern %q: %w", pattern, err)
		}
		found := []string{}
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				if path == dir {
					return err
				}
				return nil // what may not be read is not found
			}
			match, _ := filepath.Match(pattern, entry.Name())
			if match && path != dir && want(entry.Type()) {
				found = append(found, path)
			}
			if len(found) > maxFound {
				return fmt.Errorf("more than %d in %q match %q", maxFound, dir, pattern)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("find: %w", err)
		}
		return found, nil
	}
}

// findOne gives the first of them.
func findOne(want func(fs.FileMode) bool) func(dir, pattern string) (string, error) {
	all := findAll(want)
	return func(dir, pattern string) (string, error) {
		found, err := all(dir, pattern)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			return "", fmt.Errorf("find: nothing in %q matches %q", dir, pattern)
		}
		return found[0], nil
	}
}
