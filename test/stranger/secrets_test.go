package stranger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// word stands in every file that no script may read.
const word = "hushhush"

// TestNoScriptReadsWhatTheNodeIsConfiguredBy has a shell and a Python job look
// for each file that a node was given, at each level, where an operator has
// put them in folders that scripts see.
func TestNoScriptReadsWhatTheNodeIsConfiguredBy(t *testing.T) {
	for _, level := range []string{"walled", "sealed", "open"} {
		t.Run(level, func(t *testing.T) {
			forUsers(t, func(r *rig) {
				for _, place := range r.seenFolders() {
					r.readSecrets(level, place)
				}
			})
		})
	}
}

// seenFolders are folders of the rig's user that walled scripts see: one that
// the config file names, and for tests of root's one of the system.
func (r *rig) seenFolders() []string {
	r.Helper()
	own := filepath.Join(r.home, "etc")
	if err := os.Mkdir(own, 0o755); err != nil {
		r.Fatal(err)
	}
	folders := []string{own}
	if os.Getuid() == 0 {
		system, err := os.MkdirTemp("/opt", "ramet-test-")
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { os.RemoveAll(system) })
		folders = append(folders, system)
	}
	for _, folder := range folders {
		if err := os.Chmod(folder, 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.Chown(folder, r.uid, -1); err != nil {
			r.Fatal(err)
		}
	}
	return folders
}

func (r *rig) readSecrets(level, folder string) {
	r.Helper()
	var secrets []string
	put := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.Fatal(err)
		}
		// Open to the user of walled scripts, so that no mode keeps it.
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".600") {
			mode = 0o600
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			r.Fatal(err)
		}
		if err := os.Chown(path, r.uid, -1); err != nil {
			r.Fatal(err)
		}
		secrets = append(secrets, path)
		return path
	}
	beside := filepath.Join(folder, "beside")
	if err := os.WriteFile(beside, []byte("plain"), 0o644); err != nil {
		r.Fatal(err)
	}
	link := filepath.Join(folder, "current.key")
	if err := os.Symlink(put("key-1", word), link); err != nil {
		r.Fatal(err)
	}
	effects := put("effects/mail.yaml", "name: mail\nkind: http\nurl: http://127.0.0.1:9/\nheaders: {x: "+word+"}\n")
	config := put("ramet.yaml", "# "+word+`
walls: {see: [`+filepath.Join(r.home, "etc")+`]}
metrics_token_file: `+put("scrape.600", word+word)+`
effects_dir: `+filepath.Dir(effects)+`
secrets:
  A: {file: `+put("secret", word)+`}
  B: {file: `+link+`}
`)
	key := put("operator.key.600", word)
	archive := filepath.Join(folder, "archive.db")
	secrets = append(secrets, archive, filepath.Join(folder, "archive.db-wal"))
	args := []string{"--isolation", level, "--config", config, "--key", key, "--data", filepath.Join(folder, "data"),
		"--archive", "@" + put("archive.600", "sqlite:"+archive)}
	home := *r
	home.data = filepath.Join(folder, "data")
	secrets = append(secrets, filepath.Join(home.data, "node.json"))
	s := home.serve(args...)
	home.look(level, beside, secrets)

	// As when it was renewed: the link leads to another file, the config file is a new one.
	_ = os.Remove(link)
	if err := os.Symlink(put("key-2", word), link); err != nil {
		r.Fatal(err)
	}
	more := put("later", word)
	text, _ := os.ReadFile(config)
	next := put("next.yaml", string(text)+"  C: {file: "+more+"}\n")
	if err := os.Rename(next, config); err != nil {
		r.Fatal(err)
	}
	if out, errs, code := home.run("node", "reload", "--data", home.data); code != 0 {
		r.Fatalf("reload: %d\n%s%s", code, out, errs)
	}
	home.look(level, beside, secrets)
	s.stop()

	own, err := os.ReadFile(filepath.Join(home.data, "operator.key"))
	if err != nil {
		r.Fatal(err)
	}
	args[5] = put("own.key.600", string(own))
	for _, strange := range []string{key, filepath.Join(folder, "key-1")} { // another node does not know those
		if err := os.Remove(strange); err != nil {
			r.Fatal(err)
		}
	}
	for _, scriptType := range []string{"shell", "python"} {
		out := home.must(append([]string{"run", home.write("look-"+scriptType, lookFor(scriptType, beside, secrets)), "--type", scriptType}, args...)...)
		home.judge("ramet run at "+level+", "+scriptType, out)
	}
}

// look has jobs of the node look for files.
func (r *rig) look(level, beside string, secrets []string) {
	r.Helper()
	for _, scriptType := range []string{"shell", "python"} {
		r.judge(level+", "+scriptType, r.job(scriptType, lookFor(scriptType, beside, secrets)))
	}
}

func (r *rig) judge(who, out string) {
	r.Helper()
	if strings.Contains(out, word) || strings.Contains(out, "read ") {
		r.Errorf("%s: a script read what it must not:\n%s", who, out)
	}
	if !strings.Contains(out, "plain") {
		r.Errorf("%s: the test looks at too little: a script does not see what lies beside:\n%s", who, out)
	}
}

// lookFor is a script that reads a file which is not secret, and others that are.
func lookFor(scriptType, beside string, secrets []string) string {
	if scriptType == "shell" {
		return "cat " + beside + "\nfor f in " + strings.Join(secrets, " ") +
			"; do\n  [ -s $f ] && head -c 1 $f >/dev/null && echo read $f && cat $f\ndone 2>/dev/null\ntrue\n"
	}
	return "print(open('" + beside + "').read())\nfor f in '" + strings.Join(secrets, " ") + `'.split():
    try:
        text = open(f, 'rb').read()
        if text: print('read', f, text[:200])
    except OSError: pass
`
}
