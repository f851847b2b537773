package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	inlineRef = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// namedPage is a page as errors, comments, settings and alert rules name it.
	namedPage = regexp.MustCompile(`\bdocs/[\w./-]+\.md(?:#[\w-]+)?`)
	// publicRef is a page at the place where the source lies for everybody.
	publicRef = regexp.MustCompile(`github\.com/ramet-run/ramet/blob/main/([\w./-]+(?:#[\w-]+)?)`)
)

// TestEachLinkLeadsSomewhere: a link from a page to a file of ours, and to a heading of it, and each
// page that code, settings and rules name, is there.
func TestEachLinkLeadsSomewhere(t *testing.T) {
	const root = "../.."
	headings := map[string]map[string]bool{}
	seen := 0
	holds := func(from, link string) {
		path, anchor, _ := strings.Cut(link, "#")
		if path == "" {
			path = from
		}
		seen++
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("%s: there is no %s", from, path)
			return
		}
		if anchor == "" || filepath.Ext(path) != ".md" {
			return
		}
		if headings[path] == nil {
			headings[path] = anchors(t, filepath.Join(root, path))
		}
		if !headings[path][anchor] {
			t.Errorf("%s: %s has no heading #%s", from, path, anchor)
		}
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		from, _ := filepath.Rel(root, file)
		switch filepath.Ext(name) {
		case ".md":
			for _, m := range inlineRef.FindAllStringSubmatch(prose(t, file), -1) {
				link := m[1]
				if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
					continue
				}
				if !strings.HasPrefix(link, "#") {
					link = filepath.Join(filepath.Dir(from), link)
				}
				holds(from, link)
			}
		case ".go", ".yaml", ".yml", ".html", ".json", ".service", ".py", ".ts", ".js":
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, "Source:") { // of somebody else's repository
					continue
				}
				for _, m := range publicRef.FindAllStringSubmatch(line, -1) {
					holds(from, m[1])
				}
				for _, at := range namedPage.FindAllStringIndex(line, -1) {
					if before := line[:at[0]]; strings.HasSuffix(before, "/") && !strings.HasSuffix(before, "../") {
						continue // the tail of a longer path
					}
					holds(from, line[at[0]:at[1]])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 300 {
		t.Errorf("%d links were found, there were more", seen)
	}
}

// prose is a page without its blocks of code.
func prose(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return fence.ReplaceAllString(string(text), "")
}

// anchors are the headings of a page, as GitHub calls them in addresses.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose(t, file), -1) {
		found[anchorOf(m[1])] = true
	}
	return found
}

// anchorOf writes a heading in lower case, with a hyphen for each space and nothing for each sign.
//
// Source: gollum-lib and github-markup, as github.com shows pages.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
