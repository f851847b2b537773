package salscript

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file works on git repositories through the git command.

// gitTree is a folder with repositories in it: <base>/<host>/<account>/<name>.
type gitTree struct{ base string }

// gitRepo is a working copy.
type gitRepo struct{ path string }

func (h *host) gitFunctions() []function {
	done := func(do func(*gitRepo) error) func(*gitRepo) (*gitRepo, error) {
		return func(r *gitRepo) (*gitRepo, error) { return r, do(r) }
	}
	return []function{
		{"git_tree_new", newGitTree}, {"list", (*gitTree).list}, {"find", h.gitFind}, {"get", h.gitGet},
		{"git_clone", func(address string) (*gitRepo, error) { return h.clone(".", address) }},
		{"path", func(r *gitRepo) string { return r.path }}, {"has_changes", h.gitChanged},
		{"pull", done(h.gitPull)}, {"reset", done(h.gitReset)}, {"push", done(h.gitPush)},
		{"commit", func(r *gitRepo, message string) (*gitRepo, error) { return r, h.gitCommit(r, message) }},
	}
}

func newGitTree(base string) (*gitTree, error) {
	base, err := filepath.Abs(base)
	if err == nil {
		err = os.MkdirAll(base, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("git_tree_new: %w", err)
	}
	return &gitTree{base}, nil
}

// list gives the paths of all repositories in the tree.
func (t *gitTree) list() ([]string, error) {
	found := []string{}
	err := filepath.WalkDir(t.base, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if exist(filepath.Join(dir, ".git")) {
			found = append(found, dir)
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

// matching lists those whose place in the tree, or its end, fits the pattern,
// which may have * and ?.
func (t *gitTree) matching(pattern string) ([]string, error) {
	all, err := t.list()
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, repo := range all {
		place, _ := filepath.Rel(t.base, repo)
		for rest := place; ; {
			if match, err := path.Match(pattern, rest); err != nil {
				return nil, fmt.Errorf("git: pattern %q: %w", pattern, err)
			} else if match {
				found = append(found, repo)
				break
			}
			_, after, more := strings.Cut(rest, "/")
			if !more {
				break
			}
			rest = after
		}
	}
	return found, nil
}

func (h *host) gitFind(t *gitTree, pattern string) ([]value.Value, error) {
	found, err := t.matching(pattern)
	list := make([]value.Value, len(found))
	for i, repo := range found {
		list[i] = h.repoType.Value(gitRepo{repo})
	}
	return list, err
}

// gitGet gives the one repository at a path or of a pattern, or clones a URL
// that is not there yet.
func (h *host) gitGet(t *gitTree, what string) (*gitRepo, error) {
	if _, err := repoPlace(what); err == nil {
		return h.clone(t.base, what)
	}
	for _, dir := range []string{what, filepath.Join(t.base, what)} {
		if filepath.IsAbs(dir) && exist(filepath.Join(dir, ".git")) {
			return &gitRepo{dir}, nil
		}
	}
	found, err := t.matching(what)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("git: no repository matches '%s'", what)
	case len(found) > 1:
		return nil, fmt.Errorf("git: %d repositories match '%s'", len(found), what)
	}
	return &gitRepo{found[0]}, nil
}

var (
	scpAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*@([A-Za-z0-9][A-Za-z0-9.-]*):/?([^:].*)$`)
	placePart  = regexp.MustCompile(`^[A-Za-z0-9_.~][A-Za-z0-9_.~-]*$`)
	hostName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)
)

// repoPlace is where in a tree the repository of an address belongs. It
// refuses what git would take for an option, a command (ext::) or a path.
func repoPlace(address string) (string, error) {
	host, place := "", ""
	if m := scpAddress.FindStringSubmatch(address); m != nil {
		host, place = m[1], m[2]
	} else {
		u, err := url.Parse(address)
		if err != nil {
			return "", errors.New("git: the address is no URL such as https://host/account/name")
		}
		switch u.Scheme {
		case "https", "http", "ssh", "git":
			if host = u.Hostname(); !hostName.MatchString(host) {
				return "", errors.New("git: the address has no host")
			}
		case "file":
			host = "file"
		default:
			return "", errors.New("git: the address is no URL such as https://host/account/name")
		}
		place = u.Path
	}
	parts := strings.Split(strings.TrimSuffix(strings.Trim(place, "/"), ".git"), "/")
	if host == "file" && len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	for _, part := range parts {
		if part == "." || part == ".." || !placePart.MatchString(part) {
			return "", fmt.Errorf("git: the address names a repository %q", strings.Join(parts, "/"))
		}
	}
	return filepath.Join(append([]string{host}, parts...)...), nil
}

func (h *host) clone(base, address string) (*gitRepo, error) {
	place, err := repoPlace(address)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Join(base, place))
	if err != nil || exist(filepath.Join(dir, ".git")) {
		return &gitRepo{dir}, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if _, err := h.git(nil, "clone", "--quiet", "--", address, dir); err != nil {
		if u, e := url.Parse(address); e == nil && u.User != nil {
			if secret, has := u.User.Password(); has {
				err = errors.New(strings.ReplaceAll(err.Error(), secret, "***"))
			}
		}
		return nil, err
	}
	return &gitRepo{dir}, nil
}

// git asks nobody for a password, and speaks only protocols without commands in them.
func (h *host) git(r *gitRepo, args ...string) (string, error) {
	words := []string{"git"}
	if r != nil {
		words = append(words, "-C", r.path)
	}
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file"}
	return h.outputWith(env, append(words, args...)...)
}

func (h *host) gitChanged(r *gitRepo) (bool, error) {
	text, err := h.git(r, "status", "--porcelain")
	return text != "", err
}

func (h *host) gitPull(r *gitRepo) error {
	if changed, err := h.gitChanged(r); err != nil || changed {
		return errors.Join(err, fmt.Errorf("git: '%s' has changes that are not committed", r.path))
	}
	_, err := h.git(r, "pull", "--quiet", "--ff-only")
	return err
}

// gitReset throws away all changes, new files included.
func (h *host) gitReset(r *gitRepo) error {
	if _, err := h.git(r, "reset", "--quiet", "--hard", "HEAD"); err != nil {
		return err
	}
	_, err := h.git(r, "clean", "-fdq")
	return err
}

// gitCommit commits all changes; without any it does nothing.
func (h *host) gitCommit(r *gitRepo, message string) error {
	if changed, err := h.gitChanged(r); err != nil || !changed {
		return err
	}
	if _, err := h.git(r, "add", "--all"); err != nil {
		return err
	}
	args := []string{"commit", "--quiet", "--message=" + message}
	if _, err := h.git(r, "config", "user.email"); err != nil && os.Getenv("GIT_AUTHOR_EMAIL") == "" { // HOME is the job's folder
		args = append([]string{"-c", "user.name=ramet", "-c", "user.email=ramet@localhost"}, args...)
	}
	_, err := h.git(r, args...)
	return err
}

func (h *host) gitPush(r *gitRepo) error {
	_, err := h.git(r, "push", "--quiet", "origin", "HEAD")
	return err
}
