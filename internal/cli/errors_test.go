package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"srver":                            "unknown command \"srver\"; did you mean \"server\"?\nhint: carillon --help lists the commands",
		"schedule make":                    "unknown command \"make\"\nhint: carillon schedule --help lists the commands",
		"schedule pase x":                  "unknown command \"pase\"; did you mean \"pause\"?\nhint: carillon schedule --help lists the commands",
		"server --dat x":                   "unknown flag \"--dat\"; did you mean \"--data\"?\nhint: carillon server --help lists the flags",
		"server -x":                        "unknown flag \"-x\"\nhint: carillon server --help lists the flags",
		"server --port":                    "--port: a value is missing\nhint: carillon server --help lists the flags",
		"server --port high":               "--port: \"high\" is not a whole number\nhint: carillon server --help lists the flags",
		"server --sync never":              "--sync: \"never\" is not one of always, interval\nhint: carillon server --help lists the flags",
		"server extra":                     "unexpected argument \"extra\"\nhint: usage: carillon server [flags]",
		"schedule describe":                "ID is missing\nhint: usage: carillon schedule describe ID [flags]",
		"schedule create":                  "ID is missing\nhint: usage: carillon schedule create ID [flags]",
		"schedule list -o xml":             "--output: \"xml\" is not one of table, json, yaml, jsonl\nhint: carillon schedule list --help lists the flags",
		"schedule list --prefix A_":        "prefix: \"A_\" must be 1 to 32 of a-z, 0-9 and '-'",
		"generator --prefix A_":            "prefix: \"A_\" must be 1 to 32 of a-z, 0-9 and '-'",
		"schedule list --namespace A_":     "namespace: \"A_\" is not a name: use 1 to 63 of a-z, 0-9 and -",
		"schedule list --config none.yaml": "--config: open none.yaml: file does not exist",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitUsage, p.run(t.Context(), strings.Fields(command)...))
			assert.Equal(t, "error: "+want+"\n", p.stderr.String())
			assert.Empty(t, p.stdout.String())
		})
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	var p process
	assert.Equal(t, ExitUnavailable, p.run(t.Context(), "schedule", "list", "--nats", "nats://me:secret@127.0.0.1:1,nats://127.0.0.1:2"))
	assert.Contains(t, p.stderr.String(), "no NATS server answers at nats://me:xxxxx@127.0.0.1:1,nats://127.0.0.1:2\n")
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	var p process
	assert.Equal(t, ExitUnavailable, p.run(t.Context(), "schedule", "list", "--nats", "nats://127.0.0.1:1"))
	assert.Equal(t, "error: no NATS server answers at nats://127.0.0.1:1\n"+
		"hint: start one with: carillon server; or name yours with --nats URL\n", p.stderr.String())
}
