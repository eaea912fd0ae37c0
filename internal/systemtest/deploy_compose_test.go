package systemtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// composeFile is docker-compose.yml, with only what ours uses: any other key is an error.
type composeFile struct {
	Name     string                    `yaml:"name"`
	Services map[string]composeService `yaml:"services"`
	Networks map[string]struct{}       `yaml:"networks"`
	Volumes  map[string]struct{}       `yaml:"volumes"`
	Anchors  map[string]any            `yaml:",inline"`
}

type composeService struct {
	Image           string            `yaml:"image"`
	Build           composeBuild      `yaml:"build"`
	Command         []string          `yaml:"command"`
	Environment     map[string]string `yaml:"environment"`
	Restart         string            `yaml:"restart"`
	Networks        []string          `yaml:"networks"`
	Profiles        []string          `yaml:"profiles"`
	Ports           []string          `yaml:"ports"`
	Volumes         []string          `yaml:"volumes"`
	StopGracePeriod time.Duration     `yaml:"stop_grace_period"`
	ReadOnly        bool              `yaml:"read_only"`
	Tmpfs           []string          `yaml:"tmpfs"`
	CapDrop         []string          `yaml:"cap_drop"`
	SecurityOpt     []string          `yaml:"security_opt"`
	Deploy          struct {
		Replicas int `yaml:"replicas"`
	} `yaml:"deploy"`
	Healthcheck struct {
		Test     []string      `yaml:"test"`
		Interval time.Duration `yaml:"interval"`
		Timeout  time.Duration `yaml:"timeout"`
		Retries  int           `yaml:"retries"`
	} `yaml:"healthcheck"`
}

type composeBuild struct {
	Context    string `yaml:"context"`
	Dockerfile string `yaml:"dockerfile"`
}

// readCompose reads the file with the variables of example.env, and with those of one of two sites, if there are any.
func readCompose(t *testing.T, site map[string]string) (composeFile, map[string]string) {
	t.Helper()
	example := readEnv(t, deployDir, "compose/example.env")
	maps.Copy(example, site)
	text := regexp.MustCompile(`\$\{(\w+):([?-])([^}]*)\}`).ReplaceAllStringFunc(
		readFile(t, deployDir, "compose/docker-compose.yml"), func(found string) string {
			name, otherwise, _ := strings.Cut(found[2:len(found)-1], ":")
			if otherwise[0] == '-' {
				return cmp.Or(example[name], otherwise[1:])
			}
			require.NotEmpty(t, example[name], "example.env says nothing of %s", name)
			return example[name]
		})
	require.NotContains(t, text, "${")
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	var file composeFile
	require.NoError(t, decoder.Decode(&file))
	for name := range file.Anchors {
		assert.True(t, strings.HasPrefix(name, "x-"), "%s is not a key of a compose file", name)
	}
	return file, example
}

// readEnv reads a file of variables, without those that are commented out.
func readEnv(t *testing.T, path ...string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(readFile(t, path...)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		require.True(t, ok, "%s: %q", path, line)
		env[name] = value
	}
	return env
}

// deployables are the processes of Carillon in the file, each as often as it is to run, with those of profiles.
func (f composeFile) deployables(profiles ...string) (all []deployable) {
	for name, service := range f.Services {
		if service.Build.Context == "" || len(service.Profiles) > 0 && !slices.Equal(service.Profiles, profiles) {
			continue
		}
		for i := range service.Deploy.Replicas {
			all = append(all, deployable{
				name: name + "-" + strconv.Itoa(i+1), args: service.Command, env: service.Environment,
			})
		}
	}
	return all
}

// TestComposeFile checks what can be seen without running it.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	file, _ := readCompose(t, nil)
	roles := map[string]int{}
	for _, d := range file.deployables("sites") {
		roles[d.role()]++
		requireDocumented(t, d)
		if d.role() == "console" {
			assert.Equal(t, "nats", d.env["CARILLON_CONSOLE_AUTH"], "people log in")
		}
	}
	assert.Len(t, file.deployables(), len(file.deployables("sites"))-2, "without two sites there is no replication")
	assert.Equal(t, map[string]int{"frontend": 2, "generator": 2, "invoker": 2, "backfiller": 2, "history": 2, "matching": 2, "archival": 2, "gateway": 1, "console": 1, "worker": 2, "replication": 2}, roles)
	for name, service := range file.Services {
		t.Run(name, func(t *testing.T) { service.check(t, file) })
	}
	var scrape struct {
		ScrapeConfigs []struct {
			JobName string `yaml:"job_name"`
			DNS     []struct {
				Names []string `yaml:"names"`
				Port  int      `yaml:"port"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, deployDir, "compose/prometheus.yml")), &scrape))
	require.Len(t, scrape.ScrapeConfigs, 1)
	looked := scrape.ScrapeConfigs[0].DNS[0]
	assert.Len(t, looked.Names, len(roles))
	for _, name := range looked.Names {
		assert.Equal(t, fmt.Sprintf(":%d", looked.Port), file.Services[name].Environment["CARILLON_HTTP"], name)
	}
}

// check checks the promises of a service, and requires what it names to exist.
func (s composeService) check(t *testing.T, file composeFile) {
	assert.Regexp(t, `^\S+:[\w.-]+$`, s.Image, "an image has a tag")
	assert.NotContains(t, s.Image, ":latest")
	for _, port := range s.Ports {
		assert.True(t, strings.HasPrefix(port, "127.0.0.1:"), "port %s is open to other machines", port)
	}
	for _, network := range s.Networks {
		assert.Contains(t, file.Networks, network)
	}
	for _, volume := range s.Volumes {
		source, _, _ := strings.Cut(volume, ":")
		if strings.HasPrefix(source, ".") {
			_, err := os.Stat(filepath.Join(deployDir, "compose", source))
			assert.NoError(t, err)
			assert.True(t, strings.HasSuffix(volume, ":ro"), volume)
			continue
		}
		assert.Contains(t, file.Volumes, source)
	}
	if s.Build.Context == "" {
		return
	}
	assert.FileExists(t, filepath.Join(deployDir, "compose", s.Build.Context, s.Build.Dockerfile))
	assert.True(t, s.ReadOnly)
	assert.Equal(t, []string{"ALL"}, s.CapDrop)
	assert.Equal(t, []string{"no-new-privileges:true"}, s.SecurityOpt)
	assert.Empty(t, s.Volumes)
	assert.Greater(t, s.StopGracePeriod, 15*time.Second, "a role takes so long at most")
}

// TestComposeRuns starts what docker-compose.yml starts: three NATS servers with the same configuration, and every role as often,
// with the commands and variables of the file. Only addresses and folders differ.
func TestComposeRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers and fifteen processes")
	}
	file, example := readCompose(t, nil)
	urls := startComposeNATS(t, file, nil)
	var traces atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			traces.Add(1)
		}
	}))
	t.Cleanup(collector.Close)
	all := file.deployables()
	replaceEnv(all, map[string]string{
		"CARILLON_NATS": urls, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL + "/v1/traces",
	})
	running := deploy(t, all)

	conn, err := nats.Connect(urls, nats.UserInfo("operator", example["CARILLON_OPERATOR_PASSWORD"]))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	requireWork(t, conn, "carillon")
	running.requireWorkflow("operator:" + example["CARILLON_OPERATOR_PASSWORD"])
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "CARILLON_EVENTS")
	require.NoError(t, err)
	assert.Equal(t, 3, stream.CachedInfo().Config.Replicas)
	running.stop()
	assert.Positive(t, traces.Load(), "the processes have sent traces")
	for i, p := range running.processes {
		assert.NotContains(t, strings.ToLower(p.log.tail(1<<20)), "permissions violation", running.all[i].name)
	}
}

// startNATS starts a NATS server, which runs until the test ends. It may not be ready yet.
func startNATS(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	s.Start()
	return s
}

// startComposeNATS runs the three servers, and returns their URLs when they are a cluster. leaves are the addresses on which the servers of one site wait for those of the
// other one, by where the file says that they are found.
func startComposeNATS(t *testing.T, file composeFile, leaves map[string]string) string {
	t.Helper()
	var all []*server.Server
	routes := maps.Clone(leaves)
	if routes == nil {
		routes = map[string]string{}
	}
	ports := map[string]int{}
	for i := range 3 {
		name := "nats-" + strconv.Itoa(i+1)
		ports[name] = quietPort(t)
		routes[fmt.Sprintf("@%s:6222", name)] = fmt.Sprintf("@127.0.0.1:%d", ports[name])
	}
	var urls []string
	for name, port := range ports {
		o := composeNATSOptions(t, file.Services[name], routes)
		assert.Equal(t, name, o.ServerName)
		o.Cluster.Host, o.Cluster.Port = "127.0.0.1", port
		if o.LeafNode.Port != 0 {
			o.LeafNode.Host, o.LeafNode.Port = leafAddress(t, file.Services[name], leaves)
		}
		all = append(all, startNATS(t, o))
	}
	for _, s := range all {
		require.True(t, s.ReadyForConnections(patience))
		urls = append(urls, s.ClientURL())
	}
	natstest.Eventually(t, patience, "the servers are a cluster", func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == len(all)
			}
		}
		return false
	})
	return strings.Join(urls, ",")
}

// composeNATSOptions reads the configuration as the server of a service does, with its variables, and checks it.
func composeNATSOptions(t *testing.T, service composeService, routes map[string]string) *server.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	for _, volume := range service.Volumes {
		source, target, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":/etc/nats/")
		if target == "" {
			continue
		}
		own := readFile(t, deployDir, "compose", source)
		for name, value := range service.Environment {
			for theirs, ours := range routes {
				value = strings.Replace(value, theirs, ours, 1)
			}
			if regexp.MustCompile(`\$` + name + `\b`).MatchString(own) {
				own = fmt.Sprintf("%s: %q\n%s", name, value, own) // a definition in the file replaces the variable of the environment
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), target), []byte(own), 0o600))
	}
	o, err := server.ProcessConfigFile(path)
	require.NoError(t, err)

	assert.Equal(t, []string{"--config", "/etc/nats/nats.conf"}, service.Command)
	assert.True(t, o.SyncAlways)
	assert.EqualValues(t, natsserver.MaxPayload, o.MaxPayload)
	assert.Len(t, o.Routes, 3)
	assert.Equal(t, 4222, o.Port)
	assert.Equal(t, 8222, o.HTTPPort)
	assert.Contains(t, service.Volumes, o.ServerName+":"+o.StoreDir)
	o.Host, o.Port, o.HTTPPort, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, 0, t.TempDir()
	o.SyncAlways = false // the disk of a test is slow
	o.NoSigs, o.NoLog = true, true
	return o
}
