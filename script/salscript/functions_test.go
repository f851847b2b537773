package salscript_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/salscript"
)

// example is a script of the tables and the value that it gives.
type example struct{ name, source, want string }

// fails makes the value of a script the text of the error that it ends with.
func fails(source string) string {
	return "let said = \"no error\"; try { " + source + " } catch (e) { said = `${e}`; } said"
}

// examples runs a table. DIR in a wanted value stands for the work folder. What
// is wanted may end in ... where only the beginning counts.
func examples(t *testing.T, env map[string]string, list []example) {
	t.Helper()
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t)})
	defer runtime.Close()
	for _, tt := range list {
		t.Run(tt.name, func(t *testing.T) {
			task, host := newTask(t, tt.source, env)
			outcome, err := runtime.Run(t.Context(), task, host)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(outcome.Result["value"], task.Dir, "DIR")
			if begin, cut := strings.CutSuffix(tt.want, "..."); cut && strings.HasPrefix(got, begin) {
				return
			}
			if outcome.Verdict != script.Succeeded || got != tt.want {
				t.Errorf("got %s %q, want %q; %s %q", outcome.Verdict, got, tt.want, outcome.Error, host.Lines("stderr"))
			}
		})
	}
}

var fileExamples = []example{
	{"a file is written, added to and read", `file_write("a/b", "one\n"); file_write_append("a/b", "two\n"); file_read("a/b")`, "one\ntwo\n"},
	{"writing says so", `file_write("a", "") + "; " + file_write_append("a", "")`, "Successfully wrote to file 'a'; Successfully appended to file 'a'"},
	{"what is there exists", `file_write("a", ""); [exist("a"), exist("b")]`, "[true,false]"},
	{"a file's size", `file_write("a", "12345"); file_size("a")`, "5"},
	{"a folder has no size", fails(`mkdir("a"); file_size("a")`), `file_size: "a" is a directory`},
	{"a folder is made with those above it", `[mkdir("a/b"), mkdir("a/b"), exist("a/b")]`,
		`["Successfully created directory 'a/b'","Directory 'a/b' already exists",true]`},
	{"a file is copied", `file_write("a", "x"); copy("a", "b") + file_read("b")`, "Successfully copied file 'a' to 'b'x"},
	{"a file is copied into a folder", `file_write("a", "x"); mkdir("d"); copy("a", "d"); file_read("d/a")`, "x"},
	{"a folder is copied with all in it", `file_write("a/b/c", "x"); copy("a", "z"); file_read("z/b/c")`, "x"},
	{"a pattern copies all that match", `file_write("a/1.txt", ""); file_write("a/2.txt", ""); file_write("a/3.md", ""); copy("a/*.txt", "z") + ` +
		`exist("z/3.md")`, "Successfully copied 2 items from 'a/*.txt' to 'z'false"},
	{"a folder is copied over another, links as links", `file_write("a/b", "new"); run_silent("ln -s b a/l"); file_write("d/a/b", "old"); ` +
		`file_write("d/a/c", "kept"); copy("a", "d"); file_read("d/a/b") + file_read("d/a/c") + run_silent("readlink d/a/l").stdout`, "newkeptb\n"},
	{"a folder is not copied into itself", fails(`file_write("a/b", ""); copy("a", "a/c")`), `copy: "a/c" lies within "a"`},
	{"a file is not copied onto itself", fails(`file_write("a", "x"); copy("a", "a")`), `copy: "a" and "a" are the same file`},
	{"a file is moved", `file_write("a", "x"); mv("a", "b") + exist("a") + file_read("b")`, "Successfully moved file 'a' to 'b'falsex"},
	{"a folder is moved into another", `file_write("a/x", "x"); mkdir("d"); mv("a", "d"); file_read("d/a/x")`, "x"},
	{"what is not there cannot be moved", fails(`mv("a", "b")`), "mv: stat a: no such file or directory"},
	{"a file, a folder and nothing are deleted", `file_write("a", ""); mkdir("b/c"); [delete("a"), delete("b"), delete("c")]`,
		`["Successfully deleted file 'a'","Successfully deleted directory 'b'","Nothing to delete at 'c'"]`},
	{"a link is deleted, not what it leads to", `file_write("a", "x"); run_silent("ln -s a b"); delete("b"); file_read("a")`, "x"},
	{"the folder is changed", `mkdir("a"); chdir("a"); file_write("b", ""); run_silent("pwd").stdout`, "DIR/a\n"},
	{"files are found at any depth", `file_write("a/1.txt", ""); file_write("a/b/2.txt", ""); mkdir("a/3.txt"); find_files("a", "*.txt")`,
		`["a/1.txt","a/b/2.txt"]`},
	{"the first file is found", `file_write("a/b/2.txt", ""); find_file("a", "[12].txt")`, "a/b/2.txt"},
	{"folders are found", `mkdir("a/bb"); mkdir("a/c/bd"); file_write("a/bx", ""); [find_dirs("a", "b*"), find_dir("a", "b?")]`, `[["a/bb","a/c/bd"],"a/bb"]`},
	{"what is not found is an error", fails(`find_file(".", "*.none")`), `find: nothing in "." matches "*.none"`},
	{"a pattern that is none is an error", fails(`find_files(".", "[")`), `find: pattern "[": syntax error in pattern`},
	{"a command is found", `[which("sh") != "", which("no-such-command")]`, `[true,""]`},
	{"commands exist", `[cmd_ensure_exists("sh"), cmd_ensure_exists("sh, ls")]`, `["Command 'sh' exists","All commands exist: sh, ls"]`},
	{"a command that does not exist", fails(`cmd_ensure_exists("sh,no-such-command")`), "cmd_ensure_exists: command 'no-such-command' was not found in PATH"},
	{"a program of the script's is in its PATH",
		`file_write("greet", "#!/bin/sh\necho hi\n"); copy_bin("greet"); [which("greet"), run_silent("greet").stdout]`, `["DIR/bin/greet","hi\n"]`},
	{"a file is made a program", `file_write("greet", "#!/bin/sh\necho hi\n"); chmod_exec("greet"); run_silent("./greet").stdout`, "hi\n"},
	{"a large file is not read", fails(`run_silent("head -c 17000000 /dev/zero >big"); file_read("big")`), `file_read: "big" has more than 16777216 bytes`},
}

func TestFiles(t *testing.T) { examples(t, nil, fileExamples) }

// TestRsync needs the command; without it the function says so.
func TestRsync(t *testing.T) {
	want := "Successfully synced 'a/' to 'b'x"
	source := `file_write("a/f", "x"); file_write("b/old", ""); rsync("a/", "b") + file_read("b/f")`
	if _, err := exec.LookPath("rsync"); err != nil {
		source, want = fails(`rsync("a/", "b")`), "not available: rsync"
	}
	examples(t, nil, []example{{"a folder is made like another", source, want}})
}

var processExamples = []example{
	{"a command's output", `let r = run_silent("echo out; echo err >&2"); [r.stdout, r.stderr, r.success, r.code]`, `["out\n","err\n",true,0]`},
	{"the builder's options", `let r = run("exit 3").silent().ignore_error().log().execute(); [r.success, r.code]`, `[false,3]`},
	{"a command that fails is an error", fails(`run_command("echo why >&2; exit 3")`), "run: the command ended with code 3: why"},
	{"a command killed by a signal", `run("kill -9 $$").silent().ignore_error().execute().code`, "137"},
	{"several lines end at the first failure", `run("false\necho on").silent().ignore_error().execute().stdout`, ""},
	{"options as a map", `let o = new_run_options(); o.die = false; o.silent = true; run_with_options("exit 4", o).code`, "4"},
	{"an option that there is not", fails(`run_with_options("true", #{loud: true})`),
		`run_with_options: there is no option "loud"; want die, silent, async or log`},
	{"a command in the background is not waited for", `run_with_options("sleep 60; touch late", #{"async": true, silent: true}).success`, "true"},
	{"one that leaves something behind is not waited for", `run_silent("sleep 60 & echo on").stdout`, "on\n"},
	{"the end of much output is kept", `run_silent("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end").stdout.len()`, "1048576"},
	{"a result shows as its output", `run_silent("echo out")`, "out\n"},
	{"processes of the job are listed", `run_with_options("exec sleep 61.25", #{"async": true}); while process_list("sleep 61.25").filter(|p| p.name ` +
		`== "sleep").len == 0 { sleep(0.01); } let l = process_list("sleep 61.25"); [l.len, l[0].name, l[0].pid > 1, l[0].memory > 0.0, ` +
		`l[0].cpu >= 0.0]`, `[1,"sleep",true,true,true]`},
	{"one process is got", `run_with_options("exec sleep 61.5", #{"async": true}); while process_list("sleep 61.5").filter(|p| p.name == ` +
		`"sleep").len == 0 { sleep(0.01); } process_get("sleep 61.5").name`, "sleep"},
	{"none is an error", fails(`process_get("no-such-process-anywhere")`), "process_get: no process matches 'no-such-process-anywhere'"},
	{"processes of the job are killed", `run_with_options("exec sleep 61.75", #{"async": true}); while process_list("sleep 61.75").filter(|p| p.name ` +
		`== "sleep").len == 0 { sleep(0.01); } let said = kill("sleep 61.75"); while process_list("sleep 61.75").len > 0 { sleep(0.01); } said`,
		"Successfully killed 1 processes"},
	{"those of others are not", `[kill("salscript"), process_list("salscript").filter(|p| p.name != "ramet-wall").len]`,
		`["No matching processes found for 'salscript'",0]`},
	{"no pattern kills nothing", fails(`kill("")`), "kill: the pattern is empty"},
	{"the platform", `[platform_is_linux() != platform_is_osx(), platform_is_arm() != platform_is_x86()]`, "[true,true]"},
	{"the wrong platform is an error", fails(`if platform_is_linux() { platform_check_macos_arm() } else { platform_check_linux_x86() }`), "this is ..."},
}

func TestProcesses(t *testing.T) { examples(t, nil, processExamples) }

var textExamples = []example{
	{"the common indentation goes", `dedent("    a\n      b\n\n    c")`, "a\n  b\n\nc"},
	{"a tab counts four", `dedent("\ta\n    b")`, "a\nb"},
	{"each line gets a prefix", `prefix("a\nb", "> ")`, "> a\n> b"},
	{"a name is made plain", `[name_fix("Hello World"), name_fix("File-Name.txt"), name_fix("Test!@#$%^&*()"), name_fix("Café")]`,
		`["hello_world","file_name.txt","test_","caf"]`},
	{"the last part of a path is", `[path_fix("/My Dir/File Name.txt"), path_fix("/My Dir/")]`, `["/My Dir/file_name.txt","/My Dir/"]`},
	{"texts are replaced one after the other",
		`text_replacer_new().pattern("a.").replacement("b").and().pattern("b+").replacement("<$0>").regex(true).build().replace("a.ab a")`, "<b>a<b> a"},
	{"without regard to case", `text_replacer_builder().pattern("FOO").replacement("$1").case_insensitive(true).build().replace("foo Foo")`, "$1 $1"},
	{"a pattern that is none", fails(`text_replacer_new().pattern("(").regex(true).build()`), "text replacer: error parsing regexp..."},
	{"no pattern at all", fails(`text_replacer_new().build()`), "text replacer: a replacement has no pattern"},
	{"not built", fails(`text_replacer_new().pattern("a").replace("a")`), "text replacer: call build() first"},
	{"files are replaced in", `file_write("a", "x y"); let r = text_replacer_new().pattern("x").replacement("z").build(); r.replace_file_to("a", ` +
		`"b"); let seen = r.replace_file("a") + file_read("a") + file_read("b"); r.replace_file_in_place("a"); seen + file_read("a")`, "z yx yz yz y"},
	{"a template is filled", `file_write("t", "Dear {{ name }}{# no #}, {{ n + 1 }} days"); template_builder_open("t").add_var("name", ` +
		`"Ada").add_vars(#{n: 2}).render()`, "Dear Ada, 3 days"},
	{"into a file", `file_write("t", "{{ a.b[1] }}"); template_builder_open("t").add_var("a", #{b: [1, 2.0]}).render_to_file("u") + file_read("u")`,
		"Successfully rendered template to file 'u'2.0"},
	{"branches and loops",
		`file_write("t", "{% for x in list -%} {% if x > 2 and not loop.last %}many{% elif x == 1 %}one{% else %}{{ x }}{% endif %},` +
			`{%- else %}none{% endfor %}{% for k, v in map %}{{ k }}={{ v }};{% endfor %}");
		template_builder_open("t").add_vars(#{list: [1, 2, 3, 4], map: #{b: 2, a: 1}}).render()`, "one,2,many,4,a=1;b=2;"},
	{"an empty loop has its else",
		`file_write("t", "{% for x in list %}x{% else %}none{% endfor %}"); template_builder_open("t").add_var("list", []).render()`, "none"},
	{"filters",
		`file_write("t", "{{ name | upper | replace(from='A', to='-') }} {{ list | join(sep=', ') }} {{ list | length }} ` +
			`{{ no | default(value='-') }} {{ 'x' ~ 1 }} {% if 'b' in list %}in{% endif %}{% if no is defined %}!{% endif %}");
		template_builder_open("t").add_vars(#{name: "ada", list: ["a", "b"]}).render()`, "-D- a, b 2 - x1 in"},
	{"variables of the template", `file_write("t", "{% set x = 1 %}{% for i in [1,2] %}{% set_global x = x + i %}{% endfor %}{{ x }}{% raw %}{{ x ` +
		`}}{% endraw %}"); template_builder_open("t").render()`, "4{{ x }}"},
	{"values in HTML are escaped", `file_write("t.html", "{{ a }}{{ a | safe }}"); template_builder_open("t.html").add_var("a", "<b>").render()`, "&lt;b&gt;<b>"},
	{"a variable that there is not", fails(`file_write("t", "a\n{{ b }}"); template_builder_open("t").render()`), "template t: line 2: variable not found: b"},
	{"what is not closed", fails(`file_write("t", "{% if true %}a"); template_builder_open("t").render()`), "template t: line 1: {% if %} has no {% endif %}"},
	{"no such template", fails(`template_builder_open("none")`), "template: stat none: no such file or directory"},
}

func TestTexts(t *testing.T) { examples(t, nil, textExamples) }

func netExamples(t *testing.T) []example {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file.txt":
			w.Write(bytes.Repeat([]byte("x"), 2048))
		case "/all.tar.gz":
			w.Write(tarball(t, "in/a.txt"))
		case "/all.zip":
			w.Write(zipball(t, "in/b.txt"))
		case "/evil.tgz":
			w.Write(tarball(t, "../out"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	dead := closed.Addr().(*net.TCPAddr).Port
	u := func(text string) string { return strings.ReplaceAll(text, "URL", server.URL) }
	return []example{
		{"an open port and a closed one", fmt.Sprintf(`[tcp_check("127.0.0.1", %d), tcp_check("127.0.0.1", %d)]`, port, dead), "[true,false]"},
		{"a port that is none", fails(`tcp_check("127.0.0.1", 0)`), "tcp_check: port 0: want 1 to 65535"},
		{"this machine answers", `tcp_ping("127.0.0.1")`, "true"},
		{"a page that is there and one that is not", u(`[http_check("URL/file.txt"), http_check("URL/no"), http_status("URL/no")]`), "[true,false,404]"},
		{"a server that is not there", fmt.Sprintf(`http_check("http://127.0.0.1:%d")`, dead), "false"},
		{"an error does not repeat the address", fails(fmt.Sprintf(`http_status("http://user:geheim@127.0.0.1:%d/?token=geheim")`, dead)),
			"http_status: dial tcp ..."},
		{"an address that is none", fails(`http_status("file:///etc/passwd")`), "the address is no URL such as https://host/path"},
		{"a file is downloaded", u(`download_file("URL/file.txt", "a/b.txt", 2) + file_size("a/b.txt")`), "a/b.txt2048"},
		{"one that is too small is not kept", fails(u(`try { download_file("URL/file.txt", "b", 3) } catch (e) { throw e + exist("b") }`)),
			"download: got 2048 bytes, want at least 3 KiBfalse"},
		{"one that is not there", fails(u(`download_file("URL/no", "b", 0)`)), "download: the server says 404 Not Found"},
		{"a download goes into a folder", u(`download("URL/file.txt", "d", 0)`), "d/file.txt"},
		{"an archive is unpacked", u(`download("URL/all.tar.gz", "d", 0) + file_read("d/in/a.txt") + exist("d/all.tar.gz")`), "dinsidefalse"},
		{"a zip too", u(`download("URL/all.zip", "d", 0); file_read("d/in/b.txt")`), "inside"},
		{"nothing leaves the folder", fails(u(`download("URL/evil.tgz", "d", 0)`)), "download: unpack evil.tgz: ..."},
	}
}

func tarball(t *testing.T, name string) []byte {
	var buf bytes.Buffer
	zipped := gzip.NewWriter(&buf)
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 6, Typeflag: tar.TypeReg}); err != nil {
		t.Error(err)
	}
	w.Write([]byte("inside"))
	w.Close()
	zipped.Close()
	return buf.Bytes()
}

func zipball(t *testing.T, name string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	file, err := w.Create(name)
	if err != nil {
		t.Error(err)
		return nil
	}
	file.Write([]byte("inside"))
	w.Close()
	return buf.Bytes()
}

func TestNet(t *testing.T) { examples(t, nil, netExamples(t)) }

// gitExamples work on a bare repository at ORIGIN.
var gitExamples = []example{
	{"a repository is cloned into its place", `let r = git_clone("file://ORIGIN"); r.path() + file_read(r.path() + "/README")`, "DIR/file/account/project..."},
	{"a tree lists, finds and gets", `let t = git_tree_new("code"); t.get("file://ORIGIN"); [t.list(), t.find("proj*").len, ` +
		`t.find("account/*")[0].path(), t.get("project").path(), t.find("none").len]`,
		`[["DIR/code/file/account/project"],1,"DIR/code/file/account/project","DIR/code/file/account/project",0]`},
	{"one that is not there", fails(`git_tree_new("code").get("none")`), "git: no repository matches 'none'"},
	{"changes are seen, committed and pushed", `let r = git_clone("file://ORIGIN"); let was = r.has_changes(); file_write(r.path() + "/new", "x"); ` +
		`let now = r.has_changes(); r.commit("--amend is no option").push(); [was, now, r.has_changes(), run_silent("git -C " + r.path() + " log -1 ` +
		`--format=%s origin/HEAD").stdout]`,
		`[false,true,false,"--amend is no option\n"]`},
	{"changes are thrown away", `let r = git_clone("file://ORIGIN"); file_write(r.path() + "/other", "x"); file_write(r.path() + "/README", "x"); ` +
		`r.reset(); [r.has_changes(), exist(r.path() + "/other")]`, "[false,false]"},
	{"what others have pushed is pulled", `let a = git_tree_new("a").get("file://ORIGIN"); let b = git_tree_new("b").get("file://ORIGIN"); ` +
		`file_write(a.path() + "/pulled", "x"); a.commit("more").push(); b.pull(); exist(b.path() + "/pulled")`, "true"},
	{"nothing is pulled over changes", fails(`let r = git_clone("file://ORIGIN"); file_write(r.path() + "/README", "x"); r.pull()`),
		"git: 'DIR/file/account/project' has changes that are not committed"},
	{"a command is no address", fails(`git_clone("ext::sh -c 'touch owned'")`), "git: the address is no URL such as https://host/account/name"},
	{"an option is no address", fails(`git_clone("--upload-pack=touch owned")`), "git: the address is no URL such as https://host/account/name"},
	{"a host cannot be an option", fails(`git_clone("ssh://-oProxyCommand=x/a/b")`), "git: the address ..."},
	{"a place cannot lead out of the tree", fails(`git_clone("https://host/../../b")`), "git: the address names a repository ..."},
	{"a repository that cannot be had", fails(`git_clone("file:///nowhere/at/all.git")`), "git: it ended with code 128..."},
}

func TestGit(t *testing.T) {
	needChild(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	list := slices.Clone(gitExamples)
	for i := range list {
		// A repository for each: they push.
		list[i].source = strings.ReplaceAll(list[i].source, "ORIGIN", origin(t))
	}
	runtime := salscript.New(salscript.Config{On: true, Write: []string{os.TempDir()}, Level: script.Open})
	defer runtime.Close()
	for _, tt := range list {
		t.Run(tt.name, func(t *testing.T) {
			task, host := newTask(t, tt.source, nil)
			outcome, err := runtime.Run(t.Context(), task, host)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(outcome.Result["value"], task.Dir, "DIR")
			begin, cut := strings.CutSuffix(tt.want, "...")
			if outcome.Verdict != script.Succeeded || got != tt.want && !(cut && strings.HasPrefix(got, begin)) {
				t.Errorf("got %s %q, want %q; %s %q", outcome.Verdict, got, tt.want, outcome.Error, host.Lines("stderr"))
			}
		})
	}
}

// origin makes a bare repository <dir>/account/project.git with one commit.
func origin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bare := filepath.Join(dir, "account", "project.git")
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", bare},
		{"clone", "--quiet", bare, filepath.Join(dir, "work")},
		{"-C", filepath.Join(dir, "work"), "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--allow-empty", "--message=first"},
	} {
		if args[0] == "-C" {
			if err := os.WriteFile(filepath.Join(dir, "work", "README"), []byte("hello"), 0o644); err != nil {
				t.Fatal(err)
			}
			gitRun(t, "-C", filepath.Join(dir, "work"), "add", "--all")
		}
		gitRun(t, args...)
	}
	gitRun(t, "-C", filepath.Join(dir, "work"), "push", "--quiet", "origin", "HEAD:main")
	return bare
}

func gitRun(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

var redisExamples = []example{
	{"it answers", `redis_ping()`, "PONG"},
	{"texts", `[redis_set("k", "v"), redis_get("k"), redis_del("k"), redis_get("k"), redis_del("k")]`, `[true,"v",true,"",false]`},
	{"hashes", `[redis_hset("h", "a", "1"), redis_hset("h", "b", "2"), redis_hget("h", "a"), redis_hget("h", "c"), redis_hgetall("h"), ` +
		`redis_hdel("h", "a"), redis_hdel("h", "a")]`,
		`[true,true,"1","",{"a":"1","b":"2"},true,false]`},
	{"lists", `[redis_rpush("l", "b"), redis_rpush("l", "c"), redis_lpush("l", "a"), redis_llen("l"), redis_lrange("l", 0, -1), redis_lrange("l", 1, 1)]`,
		`[true,true,true,3,["a","b","c"],["b"]]`},
	{"a new connection", `[redis_ping(), redis_reset(), redis_ping()]`, `["PONG",true,"PONG"]`},
	{"the wrong type is an error", fails(`redis_set("text", "v"); redis_llen("text")`), "redis: WRONGTYPE..."},
}

func TestRedis(t *testing.T) {
	s := redistest.Start(t)
	examples(t, map[string]string{"REDIS_URL": s.URL()}, redisExamples)
	host, port, _ := strings.Cut(s.Addr(), ":")
	examples(t, map[string]string{"REDIS_HOST": host, "REDIS_PORT": port, "REDIS_DB": "2"}, redisExamples[:1])
}

func TestRedisThatCannotBeReached(t *testing.T) {
	examples(t, map[string]string{"REDIS_URL": "redis://user:geheim@127.0.0.1:1"},
		[]example{{"the password is not in the error", fails("redis_ping()"), "redis: dial tcp 127.0.0.1:1..."}})
	examples(t, map[string]string{"REDIS_URL": "geheim://%"},
		[]example{{"nor is an address that is none", fails("redis_ping()"), "redis: REDIS_URL: want redis://user:password@host:port/db"}})
}

// TestEveryFunctionHasAnExample keeps the tables whole, and docs/rhai.md with them.
func TestEveryFunctionHasAnExample(t *testing.T) {
	var sources strings.Builder
	for _, list := range [][]example{fileExamples, processExamples, textExamples, netExamples(t), gitExamples, redisExamples,
		myceliumExamples(myceliumPlaces{}), toolExamples} {
		for _, e := range list {
			sources.WriteString(e.source + "\n")
		}
	}
	sources.WriteString(`rsync( checkpoint( set_checkpoint(`) // in tests of their own
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rhai.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range salscript.Functions() {
		if !regexp.MustCompile(`\b` + name + `\(`).MatchString(sources.String()) {
			t.Errorf("no example calls %s", name)
		}
		if !regexp.MustCompile(`\b` + name + `\b`).Match(text) {
			t.Errorf("docs/rhai.md does not name %s", name)
		}
	}
}
