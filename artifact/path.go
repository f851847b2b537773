package artifact

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// CheckPath checks the path of a file that is kept: one that is shown, written
// to other machines' disks and put into headers.
//
// Errors: [domain.ErrInvalid].
func CheckPath(p string) error {
	switch {
	case len(p) > domain.MaxArtifactPath:
		return domain.Invalidf("the path of artifact %q has %d bytes, the limit is %d", domain.CutText(p, 100), len(p), domain.MaxArtifactPath)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, domain.Acts):
		return domain.Invalidf("the name of artifact %+q has line ends or other characters that do something instead of standing there; rename it", p)
	case p == "" || path.IsAbs(p) || p != path.Clean(p) || p == "." || p == ".." || strings.HasPrefix(p, "../"):
		return domain.Invalidf("artifact %+q: want a path within the folder", p)
	}
	return nil
}

// Match reports whether a path is one that a pattern names: as by [path.Match],
// with ** for any number of folders. What names a folder names all that is in it.
func Match(pattern, name string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(name, "/")
	// reach[i] says that the first i parts of the name can be the pattern's so far.
	reach := make([]bool, len(have)+1)
	reach[0] = true
	for _, w := range want {
		next := make([]bool, len(have)+1)
		for i := range reach {
			switch {
			case !reach[i]:
			case w == "**":
				for k := i; k <= len(have); k++ {
					next[k] = true
				}
			case i < len(have):
				if ok, _ := path.Match(w, have[i]); ok {
					next[i+1] = true
				}
			}
		}
		reach = next
	}
	// A prefix of the name is a folder; but ** at the end wants something in it.
	for i := 1; i <= len(have); i++ {
		if reach[i] {
			return true
		}
	}
	return false
}
