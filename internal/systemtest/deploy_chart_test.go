package systemtest

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// everything is a set of values that switches on every feature of the chart.
func everything() values {
	return values{
		"nats": values{
			"credentials": values{"kind": "creds", "secret": "service", "inboxPrefix": "_INBOX_service"},
			"tls":         values{"caSecret": "ca", "certSecret": "cert"},
		},
		"workers": values{"default": values{"credentials": values{
			"kind": "user", "secret": "worker", "inboxPrefix": "_INBOX_worker", "jsAPIPrefix": "js.carillon.API",
		}}},
		"telemetry":  values{"tracesEndpoint": "http://collector:4318/v1/traces", "tracesRatio": "0.1"},
		"defaults":   values{"autoscaling": values{"enabled": true}},
		"keda":       values{"enabled": true, "monitoringEndpoint": "nats-headless:8222"},
		"podMonitor": values{"enabled": true},
		"gateway":    values{"tls": values{"certSecret": "gateway", "clientCASecret": "clients"}},
		"archival": values{
			"allow": []any{"s3://cold?region=eu-central-1", "file:///archive"}, "credentialsSecret": "archive", "volumeClaim": "shared",
			"runsPerSecond": 100, "bytesPerSecond": 33554432,
		},
		"console": values{
			"enabled": true, "tls": values{"certSecret": "console"}, "traceURL": "https://jaeger.example/trace/{trace}",
			"ingress": values{"enabled": true, "host": "console.example", "tlsSecret": "names", "className": "nginx"},
		},
		"replication": values{
			"enabled": true, "credentials": values{"secret": "replication", "inboxPrefix": "_INBOX_replication"},
			"tls": values{"certSecret": "replication-cert"},
		},
	}
}

// object is the part of the chart's objects that the tests look at.
type object struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Spec struct {
		Replicas       int         `yaml:"replicas"`
		Selector       selector    `yaml:"selector"`
		PodSelector    selector    `yaml:"podSelector"`
		Template       podTemplate `yaml:"template"`
		ScaleTargetRef struct {
			Name string `yaml:"name"`
		} `yaml:"scaleTargetRef"`
		Triggers []struct {
			Metadata map[string]string `yaml:"metadata"`
		} `yaml:"triggers"`
		Ports []struct {
			Port       int    `yaml:"port"`
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
		Egress []any `yaml:"egress"`
	} `yaml:"spec"`
}

// selector is that of a Service, which has its labels at the top, or of any other object.
type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
	Top         map[string]any    `yaml:",inline"`
}

// labels are the labels of the selector of a Service.
func (s selector) labels() map[string]string {
	labels := map[string]string{}
	for label, value := range s.Top {
		labels[label] = fmt.Sprint(value)
	}
	return labels
}

type podTemplate struct {
	Metadata struct {
		Labels map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Spec struct {
		SecurityContext map[string]any `yaml:"securityContext"`
		Containers      []container    `yaml:"containers"`
		Volumes         []struct {
			Name  string `yaml:"name"`
			Claim struct {
				Name string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
			Secret struct {
				Name string `yaml:"secretName"`
			} `yaml:"secret"`
		} `yaml:"volumes"`
	} `yaml:"spec"`
}

type container struct {
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name      string `yaml:"name"`
		Value     string `yaml:"value"`
		ValueFrom any    `yaml:"valueFrom"`
	} `yaml:"env"`
	EnvFrom []struct {
		SecretRef struct {
			Name string `yaml:"name"`
		} `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	LivenessProbe   probe          `yaml:"livenessProbe"`
	ReadinessProbe  probe          `yaml:"readinessProbe"`
	SecurityContext map[string]any `yaml:"securityContext"`
	VolumeMounts    []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

// chartObjects renders the chart, and returns its objects by their kind.
func chartObjects(t *testing.T, over values) map[string][]object {
	t.Helper()
	all := map[string][]object{}
	for _, rendered := range renderChart(t, over) {
		text, err := yaml.Marshal(rendered)
		require.NoError(t, err)
		var o object
		require.NoError(t, yaml.Unmarshal(text, &o))
		all[o.Kind] = append(all[o.Kind], o)
	}
	return all
}

// deployable is the process of a Deployment. For a value from a Secret or a resource it has a text that says so.
func (o object) deployable() deployable {
	one := o.Spec.Template.Spec.Containers[0]
	d := deployable{name: o.Metadata.Name, args: one.Args, env: map[string]string{}}
	for _, variable := range one.Env {
		d.env[variable.Name] = variable.Value
		if variable.ValueFrom != nil {
			d.env[variable.Name] = "from elsewhere"
		}
	}
	return d
}

// TestChart renders the chart with its defaults and with every feature, and checks the result.
func TestChart(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]values{"as it is": {}, "everything": everything()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := chartObjects(t, over)
			processes := 9
			if name == "everything" {
				processes += 2 // the console and replication
			}
			require.Len(t, all["Deployment"], processes)
			assert.Len(t, all["PodDisruptionBudget"], processes)
			assert.Len(t, all["NetworkPolicy"], processes)
			assert.Len(t, all["ServiceAccount"], 1)
			requireService(t, all)
			for _, deployment := range all["Deployment"] {
				requireDocumented(t, deployment.deployable())
				deployment.check(t)
				for _, kind := range []string{"PodDisruptionBudget", "NetworkPolicy"} {
					assert.Contains(t, selectedBy(all[kind]), deployment.Metadata.Labels["app.kubernetes.io/component"], kind)
				}
			}
		})
	}
	all := chartObjects(t, everything())
	assert.Len(t, all["ScaledObject"], 5)
	assert.Len(t, all["HorizontalPodAutoscaler"], 4, "of frontend, matching, gateway and archival, which have no backlog")
	assert.Len(t, all["PodMonitor"], 1)
	assert.Zero(t, all["Deployment"][0].Spec.Replicas, "left to what scales it")
}

// requireService requires the Service to lead to ports that the gateway has.
func requireService(t *testing.T, all map[string][]object) {
	t.Helper()
	at := slices.IndexFunc(all["Service"], func(o object) bool { return o.Metadata.Labels["app.kubernetes.io/component"] == "gateway" })
	require.GreaterOrEqual(t, at, 0)
	service := all["Service"][at]
	i := slices.IndexFunc(all["Deployment"], func(o object) bool { return o.Spec.Template.Spec.Containers[0].Args[0] == "gateway" })
	require.GreaterOrEqual(t, i, 0)
	gateway := all["Deployment"][i]
	for label, value := range service.Spec.Selector.labels() {
		assert.Equal(t, value, gateway.Spec.Template.Metadata.Labels[label], label)
	}
	ports := map[string]int{}
	for _, port := range gateway.Spec.Template.Spec.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	require.Len(t, service.Spec.Ports, 2)
	for _, port := range service.Spec.Ports {
		assert.Equal(t, port.Port, ports[port.TargetPort], port.TargetPort)
	}
	env := gateway.deployable().env
	assert.Equal(t, ":"+strconv.Itoa(ports["grpc"]), env["CARILLON_GRPC"])
	assert.Equal(t, ":"+strconv.Itoa(ports["http-api"]), env["CARILLON_HTTP_API"])
	assert.NotEqual(t, env["CARILLON_GRPC_CERT"] == "", env["CARILLON_GRPC_INSECURE"] == "", "it encrypts, or says that it does not")
	_, hasCredentials := env["CARILLON_CREDS"]
	assert.Equal(t, hasCredentials, env["CARILLON_GRPC_AUTH"] == "auto", "credentials are demanded where NATS has users")
}

// TestWhoGetsIntoTheChart: a value says who may use the gateway, whether or not NATS has users.
func TestWhoGetsIntoTheChart(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "nats", "none"} {
		all := chartObjects(t, values{"gateway": values{"auth": mode}})
		i := slices.IndexFunc(all["Deployment"], func(o object) bool { return o.Spec.Template.Spec.Containers[0].Args[0] == "gateway" })
		require.GreaterOrEqual(t, i, 0)
		assert.Equal(t, mode, all["Deployment"][i].deployable().env["CARILLON_GRPC_AUTH"])
	}
}

// TestNobodyGetsInByAccident: without credentials for NATS the chart does not know whether NATS knows others, so somebody must say that a console is open to
// everybody. The same goes for a gateway where NATS knows the processes by their certificate.
func TestNobodyGetsInByAccident(t *testing.T) {
	t.Parallel()
	byCertificate := values{"tls": values{"certSecret": "cert"}}
	for name, test := range map[string]struct {
		over values
		says string
	}{
		"a console, without users":       {values{"console": values{"enabled": true}}, "console.auth"},
		"a console, by certificate":      {values{"nats": byCertificate, "gateway": values{"auth": "nats"}, "console": values{"enabled": true}}, "console.auth"},
		"a console, and it is said":      {values{"nats": byCertificate, "gateway": values{"auth": "nats"}, "console": values{"enabled": true, "auth": "none"}}, ""},
		"a console on which they log in": {values{"nats": byCertificate, "gateway": values{"auth": "nats"}, "console": values{"enabled": true, "auth": "nats"}}, ""},
		"no console":                     {values{}, ""},
		"a gateway, by certificate":      {values{"nats": byCertificate}, "gateway.auth"},
		"a gateway, and it is said":      {values{"nats": byCertificate, "gateway": values{"auth": "none"}}, ""},
	} {
		_, err := tryChart(t, test.over)
		if test.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, test.says+": ", name)
	}
}

// TestConsoleOfTheChart: people log in where NATS has users, over TLS if there is a certificate. At first there is no console.
func TestConsoleOfTheChart(t *testing.T) {
	t.Parallel()
	plain := chartObjects(t, values{"console": values{"enabled": true, "auth": "none"}})
	for name, all := range map[string]map[string][]object{"as it is": plain, "everything": chartObjects(t, everything())} {
		isConsole := func(o object) bool { return o.Metadata.Labels["app.kubernetes.io/component"] == "console" }
		i, at := slices.IndexFunc(all["Deployment"], isConsole), slices.IndexFunc(all["Service"], isConsole)
		require.GreaterOrEqual(t, min(i, at), 0, name)
		console, service := all["Deployment"][i], all["Service"][at]
		require.Len(t, service.Spec.Ports, 1)
		env := console.deployable().env
		assert.Equal(t, ":"+strconv.Itoa(service.Spec.Ports[0].Port), env["CARILLON_CONSOLE"], name)
		assert.Contains(t, fmt.Sprint(console.Spec.Template.Spec.Containers[0].Ports), service.Spec.Ports[0].TargetPort, name)
		_, hasUsers := env["CARILLON_CREDS"]
		assert.Equal(t, hasUsers, env["CARILLON_CONSOLE_AUTH"] == "nats", name)
		assert.NotEqual(t, env["CARILLON_CONSOLE_CERT"] == "", env["CARILLON_CONSOLE_INSECURE"] == "", name)
		assert.Equal(t, name == "everything", len(all["Ingress"]) == 1, name)
		assert.Equal(t, map[string]string{"everything": "https://jaeger.example/trace/{trace}"}[name], env["CARILLON_CONSOLE_TRACE_URL"], name)
	}
}

// TestArchivalOfTheChart: archival alone has the credentials of buckets and their folder, and reaches them once one is allowed.
func TestArchivalOfTheChart(t *testing.T) {
	t.Parallel()
	plain, every := chartObjects(t, values{}), chartObjects(t, everything())
	for _, deployment := range every["Deployment"] {
		role, one := deployment.Metadata.Labels["app.kubernetes.io/component"], deployment.Spec.Template.Spec.Containers[0]
		claims := ""
		for _, volume := range deployment.Spec.Template.Spec.Volumes {
			claims += volume.Claim.Name
		}
		if role != "archival" {
			assert.Empty(t, one.EnvFrom, role)
			assert.Empty(t, claims, role)
			continue
		}
		require.Len(t, one.EnvFrom, 1)
		assert.Equal(t, "archive", one.EnvFrom[0].SecretRef.Name)
		assert.Equal(t, "shared", claims)
		assert.Contains(t, fmt.Sprint(one.VolumeMounts), "/archive")
		assert.Subset(t, one.Args, []string{
			"--archive-allow=s3://cold?region=eu-central-1", "--archive-allow=file:///archive", "--archive-runs-per-second=100",
			"--archive-bytes-per-second=33554432",
		})
	}
	egress := func(all map[string][]object) (rules int) {
		at := slices.IndexFunc(all["NetworkPolicy"], func(o object) bool { return o.Metadata.Labels["app.kubernetes.io/component"] == "archival" })
		require.GreaterOrEqual(t, at, 0)
		return len(all["NetworkPolicy"][at].Spec.Egress)
	}
	assert.Equal(t, egress(plain)+1, egress(every), "the store of a cloud is elsewhere")
}

// TestReplicationOfTheChart: the role replication runs only if it is asked for, and never as the user of the other roles, who may not remove streams.
func TestReplicationOfTheChart(t *testing.T) {
	t.Parallel()
	role := func(o object) bool { return o.Metadata.Labels["app.kubernetes.io/component"] == "replication" }
	require.False(t, slices.ContainsFunc(chartObjects(t, values{})["Deployment"], role))
	every := chartObjects(t, everything())
	i := slices.IndexFunc(every["Deployment"], role)
	require.GreaterOrEqual(t, i, 0)
	one := every["Deployment"][i]
	assert.Equal(t, 2, one.Spec.Replicas, "nothing scales it")
	assert.Equal(t, []string{"replication"}, one.deployable().args)
	assert.Equal(t, "_INBOX_replication", one.deployable().env["CARILLON_INBOX_PREFIX"])
	var secrets []string
	for _, volume := range one.Spec.Template.Spec.Volumes {
		secrets = append(secrets, volume.Secret.Name)
	}
	assert.Subset(t, secrets, []string{"replication", "replication-cert"})

	service := values{"credentials": values{"kind": "user", "secret": "service", "inboxPrefix": "_INBOX_service"}}
	_, err := tryChart(t, values{"nats": service, "replication": values{"enabled": true}})
	require.ErrorContains(t, err, "replication.credentials.secret: ")
	without := chartObjects(t, values{"nats": service, "replication": values{"enabled": true, "credentials": values{"secret": "replication"}}})
	i = slices.IndexFunc(without["Deployment"], role)
	require.GreaterOrEqual(t, i, 0)
	assert.NotContains(t, without["Deployment"][i].deployable().env, "CARILLON_INBOX_PREFIX", "that of the other roles is no default")
}

// selectedBy are the components that objects select.
func selectedBy(objects []object) (components []string) {
	for _, o := range objects {
		for _, s := range []selector{o.Spec.Selector, o.Spec.PodSelector} {
			if component := s.MatchLabels["app.kubernetes.io/component"]; component != "" {
				components = append(components, component)
			}
		}
	}
	return components
}

// check checks the promises of a Deployment.
func (o object) check(t *testing.T) {
	t.Helper()
	pod := o.Spec.Template
	for label, value := range o.Spec.Selector.MatchLabels {
		assert.Equal(t, value, pod.Metadata.Labels[label], label)
	}
	require.Len(t, pod.Spec.Containers, 1)
	one := pod.Spec.Containers[0]
	assert.Equal(t, true, pod.Spec.SecurityContext["runAsNonRoot"])
	assert.Equal(t, values{"type": "RuntimeDefault"}, pod.Spec.SecurityContext["seccompProfile"])
	assert.Equal(t, true, one.SecurityContext["readOnlyRootFilesystem"])
	assert.Equal(t, false, one.SecurityContext["allowPrivilegeEscalation"])
	assert.Equal(t, values{"drop": []any{"ALL"}}, one.SecurityContext["capabilities"])
	assert.Equal(t, "/healthz", one.LivenessProbe.HTTPGet.Path)
	assert.Equal(t, "/readyz", one.ReadinessProbe.HTTPGet.Path)
	require.NotEmpty(t, one.Ports)
	assert.Equal(t, one.Ports[0].Name, one.LivenessProbe.HTTPGet.Port)
	assert.Equal(t, one.Ports[0].Name, one.ReadinessProbe.HTTPGet.Port)
	assert.Equal(t, ":"+strconv.Itoa(one.Ports[0].ContainerPort), o.deployable().env["CARILLON_HTTP"])
	o.checkFiles(t, one)
}

// checkFiles requires every file that a variable names to be in an existing volume.
func (o object) checkFiles(t *testing.T, one container) {
	t.Helper()
	volumes := map[string]bool{}
	for _, volume := range o.Spec.Template.Spec.Volumes {
		volumes[volume.Name] = true
	}
	folders := map[string]bool{}
	for _, mount := range one.VolumeMounts {
		assert.True(t, volumes[mount.Name], "%s is no volume", mount.Name)
		folders[mount.MountPath] = true
	}
	for name, value := range o.deployable().env {
		if strings.HasPrefix(value, "/") {
			assert.True(t, folders[path.Dir(value)], "%s names %s, and nothing is mounted there", name, value)
		}
	}
}

// TestChartValues: the values fit their schema, and the schema refuses other values.
func TestChartValues(t *testing.T) {
	t.Parallel()
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(readFile(t, deployDir, "helm/carillon/values.schema.json")), &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	validate := func(over values) error {
		var own values
		require.NoError(t, yaml.Unmarshal([]byte(readFile(t, deployDir, "helm/carillon/values.yaml")), &own))
		text, err := json.Marshal(merged(own, over))
		require.NoError(t, err)
		var all any
		require.NoError(t, json.Unmarshal(text, &all))
		return resolved.Validate(all)
	}
	require.NoError(t, validate(values{}))
	require.NoError(t, validate(everything()))
	for name, wrong := range map[string]values{
		"no such value":            {"replica": 3},
		"account of replication":   {"replication": values{"credentials": values{"jsAPIPrefix": "js.carillon.API"}}},
		"no such role":             {"roles": values{"scheduler": values{}}},
		"no such value of a role":  {"roles": values{"frontend": values{"replica": 3}}},
		"a worker without a queue": {"workers": values{"reports": values{"namespace": "default"}}},
		"replicas of NATS":         {"installation": values{"replicas": 2}},
		"prefix":                   {"installation": values{"prefix": "Carillon"}},
		"kind of credentials":      {"nats": values{"credentials": values{"kind": "token"}}},
		"URL":                      {"nats": values{"url": "nats:4222"}},
		"log level":                {"logLevel": "loud"},
		"trace URL of the console": {"console": values{"traceURL": "jaeger.example/{trace}"}},
		"ingress of the console":   {"console": values{"ingress": values{"hosts": "x"}}},
		"bucket of an archive":     {"archival": values{"allow": []any{"/archive"}}},
		"TLS of the gateway":       {"gateway": values{"tls": values{"secret": "gateway"}}},
	} {
		assert.Error(t, validate(wrong), name)
	}
}

// TestChartRuns starts the commands of the chart, with the variables that it gives them, and sees them work. Then the consumers
// that KEDA watches must exist.
func TestChartRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts nine processes")
	}
	server := natstest.Server(t)
	over := values{
		"installation": values{"replicas": 1, "prefix": "chart"}, // one server is enough here
		"defaults":     values{"autoscaling": values{"enabled": true}},
		"keda":         values{"enabled": true, "monitoringEndpoint": "nats-headless:8222", "account": "$G"},
	}
	objects := chartObjects(t, over)
	var all []deployable
	for _, deployment := range objects["Deployment"] {
		all = append(all, deployment.deployable())
	}
	replaceEnv(all, map[string]string{"CARILLON_NATS": server.ClientURL(), "GOMEMLIMIT": strconv.Itoa(512 << 20)})
	running := deploy(t, all)
	conn, js := natstest.Connect(t, server)
	requireWork(t, conn, "chart")
	running.requireWorkflow("")
	requireScaled(t, js, objects)
	running.stop()
}

// requireScaled requires each consumer that a ScaledObject names to exist.
func requireScaled(t *testing.T, js jetstream.JetStream, objects map[string][]object) {
	t.Helper()
	deployments := map[string]bool{}
	for _, deployment := range objects["Deployment"] {
		deployments[deployment.Metadata.Name] = true
	}
	require.Len(t, objects["ScaledObject"], 5)
	for _, scaled := range objects["ScaledObject"] {
		assert.True(t, deployments[scaled.Spec.ScaleTargetRef.Name], "%s is no Deployment", scaled.Spec.ScaleTargetRef.Name)
		require.NotEmpty(t, scaled.Spec.Triggers)
		for _, trigger := range scaled.Spec.Triggers {
			_, err := js.Consumer(t.Context(), trigger.Metadata["stream"], trigger.Metadata["consumer"])
			assert.NoError(t, err, "%v", trigger.Metadata)
			assert.Regexp(t, regexp.MustCompile(`^[1-9]\d*$`), trigger.Metadata["lagThreshold"])
		}
	}
}
