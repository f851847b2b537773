package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// This file finds out what a walled script sees of the machine's files.

// systemFolders are seen by every walled script, read-only, where they exist.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
	"/run/current-system", // NixOS
	"/etc/resolv.conf",    // often a link into /run
	"/etc/localtime"}

// programFolders are names of folders that programs lie in; what they need lies beside.
var programFolders = []string{"bin", "sbin", "shims", "libexec"}

// rootPlaces are folders over which a new root can be mounted, for as long as
// the old one is still needed: one of them that nothing is taken from.
var rootPlaces = []string{"/mnt", "/media", "/srv", "/sys", "/home", "/boot", "/var", "/run", "/tmp"}

// place is one thing in a view: a file or folder of the machine's, or a link.
type place struct {
	path  string
	link  string // its text, for a link
	dir   bool
	write bool
}

// sight is what a walled script sees of the machine's files. It does not change.
type sight struct {
	places []place // parents before what lies in them
	root   string  // where the new root is mounted first
}

// newSight finds what is there to be seen.
//
// Errors: [domain.ErrUnavailable].
func newSight(see, write, hidden []string, uid int) (*sight, error) {
	s := &sight{}
	for _, path := range slices.Concat(systemFolders, absolute(see)) {
		s.add(path, false)
	}
	for _, path := range absolute(write) {
		if err := writable(path, uid); err != nil {
			return nil, err
		}
		s.add(path, true)
	}
	s.places = slices.DeleteFunc(s.places, func(p place) bool {
		return p.link == "" && slices.ContainsFunc(hidden, func(h string) bool { return within(p.path, h) })
	})
	slices.SortStableFunc(s.places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	for _, path := range rootPlaces {
		info, err := os.Lstat(path)
		taken := slices.ContainsFunc(s.places, func(p place) bool { return within(p.path, path) })
		if err == nil && info.IsDir() && !taken {
			s.root = path
			return s, nil
		}
	}
	return nil, domain.Unavailablef("no folder over which a new root could be mounted: want one of %s", strings.Join(rootPlaces, ", "))
}

// writable tells whether a user who owns nothing else may write to a folder.
//
// Errors: [domain.ErrUnavailable].
func writable(path string, uid int) error {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return nil // what is not there is not seen
	}
	if uid == os.Geteuid() && unix.Access(path, unix.W_OK) == nil {
		return nil
	}
	if int(stat.Uid) == uid && stat.Mode&0o200 != 0 || stat.Mode&0o002 != 0 {
		return nil
	}
	return domain.Unavailablef("scripts may write to %s, but user %d, with whom they run, may not: `chown %d %s`, or set walls.user", path, uid, uid, path)
}

// absolute makes paths absolute.
func absolute(paths []string) (list []string) {
	for _, path := range paths {
		if path, err := filepath.Abs(path); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// add adds what a path leads to, with the links on the way. What is not there is
// not seen.
func (s *sight) add(path string, write bool) {
	path = s.follow(path)
	info, err := os.Lstat(path)
	if err != nil || path == "/" || !write && s.covers(path) || !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	if !write { // what lay within is seen with it
		s.places = slices.DeleteFunc(s.places, func(p place) bool { return !p.write && within(p.path, path) })
	}
	s.places = append(s.places, place{path: path, dir: info.IsDir(), write: write})
}

// follow adds the links in a path, and gives the path without.
func (s *sight) follow(path string) string {
	for range 40 { // as many links as the kernel follows
		link, rest := firstLink(path)
		text, err := os.Readlink(link)
		if err != nil {
			break
		}
		if !s.covers(link) && !slices.ContainsFunc(s.places, func(p place) bool { return p.path == link }) {
			s.places = append(s.places, place{path: link, link: text})
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(link), text)
		}
		path = filepath.Join(text, rest)
	}
	return path
}

// reaching is a sight with the links in a path besides.
func (s *sight) reaching(path string) *sight {
	more := *s
	more.places = slices.Clone(s.places)
	more.follow(path)
	return &more
}

// firstLink splits a path behind the first link in it.
func firstLink(path string) (link, rest string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if info, err := os.Lstat(path[:i]); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return path[:i], path[i:]
		}
	}
	return "", ""
}

// hides gives those of the hidden files and folders that are there and would be seen.
func (s *sight) hides(hidden []string) (list []place) {
	for _, path := range hidden {
		if !s.covers(path) {
			continue
		}
		if info, err := os.Lstat(path); err == nil {
			list = append(list, place{path: path, dir: info.IsDir()})
		}
	}
	return list
}

// covers tells whether a path lies in a folder that is seen, or is one.
func (s *sight) covers(path string) bool {
	return slices.ContainsFunc(s.places, func(p place) bool { return p.link == "" && within(path, p.path) })
}

// within tells whether a path is a folder or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// home tells what must be seen for a program to work that an operator chose: the
// folder that it was installed in, else its own folder, else the program alone.
// Folders of people and those that hold something to hide are not taken.
func home(program string, hidden []string, uid int) []string {
	var see []string
	paths := []string{program}
	if real, err := filepath.EvalSymlinks(program); err == nil && real != program {
		paths = append(paths, real)
	}
	for _, path := range paths {
		folder := filepath.Dir(path)
		see = append(see, path)
		if harmless(folder, hidden) && enterable(folder, uid) {
			see = append(see, folder)
		}
		if above := filepath.Dir(folder); slices.Contains(programFolders, filepath.Base(folder)) && harmless(above, hidden) && enterable(above, uid) {
			see = append(see, above)
		}
	}
	return see
}

// enterable tells whether a user who owns nothing else may enter a folder.
func enterable(folder string, uid int) bool {
	var stat unix.Stat_t
	err := unix.Stat(folder, &stat)
	return err == nil && (uid == os.Geteuid() || int(stat.Uid) == uid || stat.Mode&0o001 != 0)
}

// harmless tells whether all of a folder may be seen.
func harmless(folder string, hidden []string) bool {
	own, _ := os.UserHomeDir()
	for _, people := range []string{"/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/dev", "/run", "/srv", "/mnt", own} {
		if folder == people {
			return false
		}
	}
	if filepath.Dir(folder) == "/home" {
		return false
	}
	return !slices.ContainsFunc(hidden, func(h string) bool { return within(h, folder) })
}
