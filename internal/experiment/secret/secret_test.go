package secret

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The secrets are put together from parts, so that no scanner of repositories takes the tests for a leak.
var (
	githubToken = "ghp_" + strings.Repeat("a1B2", 9)
	webToken    = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.c2lnbmF0dXJl"
	privateKey  = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nqqq\n-----END RSA PRIVATE KEY-----"
	randomText  = "q7Rz" + "94hfPPc2x8Vn1mKdt3"
)

// found returns NAME=secret for each finding.
func found(text string, findings []Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Name+"="+text[f.Start:f.End])
	}
	return all
}

func TestIn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind Kind
		text string
		want []string
	}{
		{Argument, "--password=hunter2", []string{"--password=hunter2"}},
		{Argument, "--mysql-password=hunter2", []string{"--mysql-password=hunter2"}},
		{Argument, "-password=hunter2", []string{"-password=hunter2"}},
		{Argument, "-Djavax.net.ssl.keyStorePassword=changeit", []string{"-Djavax.net.ssl.keyStorePassword=changeit"}},
		{Argument, "AUTHTOKEN=abc", []string{"AUTHTOKEN=abc"}},
		{Argument, "GITHUB_PAT=abcdef", []string{"GITHUB_PAT=abcdef"}},
		{Argument, "SESSION_COOKIE=abc", []string{"SESSION_COOKIE=abc"}},
		{Argument, "BEARER=abc", []string{"BEARER=abc"}},
		{Argument, "DATABASE_URL=mysecretdsn", []string{"DATABASE_URL=mysecretdsn"}},
		{Argument, "DATABASE_URL=me:pw@tcp(db:3306)/x", []string{"DATABASE_URL=me:pw@tcp(db:3306"}},
		{Argument, "AWS_SECRET_ACCESS_KEY=abc", []string{"AWS_SECRET_ACCESS_KEY=abc"}},
		{Argument, "SSH_KEY=" + randomText, []string{"SSH_KEY=" + randomText}},
		{Argument, "https://me:hunter2@example.org/x", []string{"https://me@example.org=hunter2"}},
		{Argument, "postgres://bench:p%40ss@db:5432/x", []string{"postgres://bench@db:5432=p%40ss"}},
		{Argument, "https://h/?user=a&api_key=abc&x=1", []string{"api_key=abc"}},
		{Argument, "Authorization: Bearer abcdefgh", []string{"Authorization=abcdefgh"}},
		{Argument, "authorization: Basic bWU6aHVudGVyMg==", []string{"authorization=bWU6aHVudGVyMg=="}},
		{Argument, "Authorization: abc", []string{"Authorization=abc"}},
		{Argument, "X-Api-Key: abc", []string{"X-Api-Key=abc"}},
		{Argument, "Cookie: session=abc; other=def", []string{"Cookie=session=abc; other=def"}},
		{Argument, `{"user": "me", "password": "hunter2"}`, []string{"password=hunter2"}},
		{Argument, githubToken, []string{"GitHub token=" + githubToken}},
		{Argument, webToken, []string{"JSON web token=" + webToken}},
		{Argument, "a " + privateKey + " b", []string{"private key=" + privateKey}},
		{Code, "curl -H 'Authorization: Bearer abc' https://x", []string{"Authorization=abc"}},
		{Code, "curl -H 'X-Auth-Token: abc' https://x", []string{"X-Auth-Token=abc"}},
		{Code, "bench --password hunter2 --rate 5", []string{"--password=hunter2"}},
		{Code, "TOKEN='a b' ./bench; PGPASSWORD=x psql", []string{"TOKEN=a b", "PGPASSWORD=x"}},
		{Code, "spec:\n  password: hunter2 # it\n  user: me\n", []string{"password=hunter2"}},
		{Code, "env:\n- name: DB_PASSWORD\n  value: hunter2\n", []string{"DB_PASSWORD=hunter2"}},
		{Code, "env: [{name: API_TOKEN, value: abc}]", []string{"API_TOKEN=abc"}},
		{Prose, "it asks with bearer a1b2c3d4e5", []string{"bearer token=a1b2c3d4e5"}},
		{Prose, "password=hunter2 does it", []string{"password=hunter2"}},

		// References to a secret, and places of one.
		{Argument, "--password=$PASSWORD", nil},
		{Argument, "--password=${PASSWORD}", nil},
		{Argument, "--password=$(file:/run/secret)", nil},
		{Argument, "Authorization: Bearer $TOKEN", nil},
		{Argument, "https://me:$PASSWORD@example.org", nil},
		{Argument, "https://me:***@example.org", nil},
		{Argument, "--password-file=/run/secrets/x", nil},
		{Argument, "--password=@/run/secrets/x", nil},
		{Argument, "--token=/var/run/secrets/token", nil},
		{Argument, "--password=<password>", nil},
		{Code, `bench --password "$PASSWORD" --token "$(cat /run/token)"`, nil},
		{Code, "TOKEN=$(cat token) ./bench", nil},
		// Names that resemble a secret's name.
		{Argument, "--max-tokens=128", nil},
		{Argument, "--token-count=5", nil},
		{Argument, "--key-pattern=P:P", nil},
		{Argument, "--keys=100000", nil},
		{Argument, "--key-size=2048", nil},
		{Argument, "--auth-type=basic", nil},
		{Argument, "--auth=none", nil},
		{Argument, "SSH_AUTH_SOCK=/run/agent", nil},
		{Argument, "KEYBOARD=us", nil},
		{Argument, "--pass=2", nil},
		{Argument, "DATABASE_URL=postgres://localhost/bench", nil},
		{Argument, "DATABASE_URL=postgres://bench@localhost/bench", nil},
		{Argument, "https://example.org:8443/a@b", nil},
		{Argument, "connection_security_policy=\"mutual_tls\"", nil},
		{Argument, "token=([a-z]+)", nil},
		{Argument, "tls_key=/etc/tls.key", nil},
		{Argument, "git@github.com:a/b", nil},
		{Code, "spec:\n  secretName: db\n  secretKeyRef: {name: db, key: password}\n  automountServiceAccountToken: false\n", nil},
		{Code, "tolerations:\n- key: node-role.kubernetes.io/control-plane\n", nil},
		{Code, "if [ \"$PASSWORD\" = x ]; then :; fi", nil},
		{Prose, "with bearer authentication, and the token: it is renewed", nil},
		{Prose, "Does the password hashing cost much?", nil},
		{Argument, "sha256:" + strings.Repeat("0123456789abcdef", 4), nil},
		{Argument, "nginx@sha256:" + strings.Repeat("0123456789abcdef", 4), nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, found(test.text, Find(test.text, test.kind))); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}

// Secrets in a text for a shell, and tokens that gitleaks' rules recognise.
func TestShell(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"curl -u me:hunter2 https://x", []string{"curl -u=hunter2"}},
		{"curl -sSu me:hunter2 https://x/mysql", []string{"curl -u=hunter2"}},
		{"curl https://x/mysql --user=me:hunter2", []string{"curl --user=hunter2"}},
		{"curl -s \\\n  -u 'me:hunter2' https://x | tail -1", []string{"curl -u=hunter2"}},
		{"set -e; mysql -uroot -phunter2 db <x && echo", []string{"mysql -p=hunter2"}},
		{"x=$(mysql -p'hunter 2' db)", []string{"mysql -p='hunter 2'"}},
		{"sshpass -p hunter2 ssh h", []string{"sshpass -p=hunter2"}},
		{"sshpass -phunter2 ssh -p 22 h", []string{"sshpass -p=hunter2"}},
		{"echo; docker login -u me -p hunter2 registry", []string{"login -p=hunter2"}},
		{"helm registry login r -p hunter2", []string{"login -p=hunter2"}},
		{"docker login --password hunter2 registry", []string{"--password=hunter2"}},
		{"redis-cli -a hunter2 ping", []string{"redis-cli -a=hunter2"}},
		{`ssh h "redis-cli -a hunter2 ping"`, []string{"redis-cli -a=hunter2"}},
		{`bash -c "ssh h 'mysql -phunter2'"`, []string{"mysql -p=hunter2"}},
		{"openssl enc -pass pass:hunter2", []string{"openssl -pass=hunter2"}},
		{"ask --key sk-proj-" + randomText, []string{"sk- key=sk-proj-" + randomText}},
		{"curl 'https://x/y?se=2030&sig=q7Rz94hf%2FPPc2x8Vn1mKdt3%3D'", []string{"sig=q7Rz94hf%2FPPc2x8Vn1mKdt3%3D"}},
		{"push dop_v1_" + strings.Repeat("0a1b2c3d", 8), []string{"digitalocean-pat=dop_v1_" + strings.Repeat("0a1b2c3d", 8)}},
		{"x glsa_" + randomText + "0Zx9Lq3Wv7_0a1b2c3d", []string{"grafana-service-account-token=glsa_" + randomText + "0Zx9Lq3Wv7_0a1b2c3d"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, found(test.text, Find(test.text, Code))); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
	rules := 0
	for line := range strings.Lines(known) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rule := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(rule) != 4 || rule[1] == "" || strings.ToLower(rule[1]) != rule[1] {
			t.Fatalf("%q", line)
		}
		if _, err := strconv.ParseFloat(rule[2], 64); err != nil {
			t.Error(err)
		}
		if _, err := regexp.Compile(rule[3]); err != nil {
			t.Error(err)
		}
		rules++
	}
	if rules < 80 {
		t.Errorf("%d rules", rules)
	}
}

// Ordinary commands contain no secret.
func TestOrdinary(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"docker run --rm -p 8080:80 -u 1000:1000 --name mysql -e MYSQL_ROOT_PASSWORD mysql:8",
		"docker login -u me --password-stdin registry.example.org <token",
		"docker login -u me -p $PASSWORD registry", `docker login -p "$(cat token)"`, "podman pull login:latest",
		"curl -u me https://x", `curl -sSu "$U:$P" https://x`, "curl -u me:$P x; git push -u origin main:main", "curl -o out -s https://x:8443/a:b",
		"curl -w '%{http_code}:%{time_total}' -x proxy:3128 -H 'Host: a:1' x", "curl --user-agent a:b x",
		"mysql -p db", "mysql -uroot db -e 'select 1'", "mysql -P 3306 -h db", `mysql -p"$PW" db`, "mysqladmin ping; nc -p 22 h",
		"ssh -p 22 h", "sshpass -e ssh -p 2222 h", "sshpass -f file ssh h", `redis-cli -a "$PW" ping`, "redis-cli -p 6379 -n 1 ping", "redis-benchmark -p 6379 -t get -n 1000 -P 16 -q",
		"redis-cli ping && ls -a dir", "openssl speed -evp aes-128-gcm", "openssl enc -pass env:PW -in a", "openssl s_client -connect h:443 -servername h",
		"openssl dgst -sha256 x", "ab -n 100 -c 4 http://h/", "hey -n 100 -c 4 http://h/", "wrk -t2 -c10 -d5s http://h/", "fio --name=x --bs=4k --rw=randread",
		"iperf3 -c h -p 5201 -P 4 -u -b 1G", "sysbench oltp_read_only --mysql-user=root --tables=4 run", "pgbench -c 4 -T 10 -U postgres bench",
		"tar -czf a.tgz -C dir .", "sort -u x | uniq -c", "kubectl -n a get secret x -o yaml", "kubectl create token default", "helm install -n a b c --set x=y",
		"git commit -m 'sk-based'", "task-manager run --all", "cat risk-assessment-of-a-thing-2024", "make CFLAGS=-O2 -j8", "sha256sum x; echo " + strings.Repeat("0a1b2c3d", 8),
		"echo https://x/?sig=none&a=b", "gcc -c -o sig.o sig.c; kill -s SIGTERM 1", `for i in 1 2 3; do echo "$i"; done`, `awk '{print $1":"$2}' x`, "vault login -method=oidc", "az login --use-device-code", "oc login -u me h",
		"stress-ng --cpu 2 -t 5 --metrics-brief", "dd if=/dev/zero of=x bs=1M count=10", "python3 -c 'import os; print(os.getpid())'", "perl -pe 's/a:b/c/'", "go test -run X -bench . -benchtime 1s", "ping -c 3 h", "mosquitto_pub -t a -m b -p 1883",
	} {
		for _, kind := range []Kind{Prose, Argument, Code} {
			if got := found(text, Find(text, kind)); got != nil {
				t.Errorf("%q: %q", text, got)
			}
		}
		if got := Arguments(strings.Fields(text)); len(got) > 0 && !strings.ContainsAny(text, `"';|&`) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want map[int]string
	}{
		{[]string{"bench", "--password", "hunter2", "x"}, map[int]string{2: "--password=hunter2"}},
		{[]string{"bench", "-token", "abc"}, map[int]string{2: "-token=abc"}},
		{[]string{"curl", "-u", "me:hunter2", "https://x"}, map[int]string{2: "curl -u=hunter2"}},
		{[]string{"mysqlslap", "-uroot", "-phunter2"}, map[int]string{2: "mysqlslap -p=hunter2"}},
		{[]string{"env", "A=1", "sshpass", "-p", "hunter2", "ssh"}, map[int]string{4: "sshpass -p=hunter2"}},
		{[]string{"redis-benchmark", "-a", "hunter2"}, map[int]string{2: "redis-benchmark -a=hunter2"}},

		{[]string{"bench", "--password", "$PASSWORD"}, nil},
		{[]string{"bench", "--password", "--rate"}, nil},
		{[]string{"bench", "--password"}, nil},
		{[]string{"curl", "-u", "me", "https://x"}, nil},
		{[]string{"curl", "-u", "me:$PASSWORD", "https://x"}, nil},
		{[]string{"docker", "run", "--user", "1000:1000", "x"}, nil},
		{[]string{"mysql", "-p", "db"}, nil},
		{[]string{"nice", "-n", "19"}, nil},
	}
	for _, test := range tests {
		got := map[int]string{}
		for i, f := range Arguments(test.args) {
			got[i] = f.Name + "=" + test.args[i][f.Start:f.End]
		}
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.args, diff)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"api_key": true, "KEY2": true, "PGPASSWORD": true, "DBPasswd2": true, "CLIENTSECRET": true, "dbPassword": true, "MYSQL_PWD": true,
		"GITHUB_PAT": true, "SESSION_COOKIE": true, "BEARER": true, "AUTHTOKEN": true, "DATABASE_URL": true, "DSN": true,
		"KEYBOARD": false, "BYPASS": false, "PASSWORDLESS": false, "SECRETARY": false, "PWD": false, "OLDPWD": false, "PATH": false,
		"MONKEY": false, "PASSWORD_FILE": false, "LEVEL": false, "": false, "PAT": false,
	} {
		if got := Named(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func FuzzIn(f *testing.F) {
	for _, seed := range []string{"--password=x", "https://a:b@c", privateKey, "Authorization: Basic YTpi", "name: TOKEN\nvalue: 'x'", "\xff=\x00", `"a":"`} {
		f.Add(seed, "name")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		for kind := Prose; kind <= Code; kind++ {
			end := 0
			for _, found := range append(Find(text, kind), Value(name, text, kind)[:0]...) {
				if found.Start < end || found.End < found.Start || found.End > len(text) || found.Name == "" {
					t.Fatalf("%+v in %d bytes, the one before ends at %d", found, len(text), end)
				}
				end = found.End
			}
		}
		args := strings.Fields(name + " " + text)
		for i, found := range Arguments(args) {
			if found.Start < 0 || found.End > len(args[i]) || found.End < found.Start {
				t.Fatalf("%+v in %q", found, args[i])
			}
		}
	})
}
