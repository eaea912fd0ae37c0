package systemtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// permissionsOf are the permissions of the users of Carillon's account, as JSON, by user.
func permissionsOf(t *testing.T, accounts any) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, user := range accounts.(values)["CARILLON"].(values)["users"].([]any) {
		all[user.(values)["user"].(string)] = asJSON(t, user.(values)["permissions"])
	}
	return all
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\\u003e", ">")
}

// passageOf is everything that passes between the installation and another account, as JSON: what either exports and imports.
func passageOf(t *testing.T, accounts any, tenant string) string {
	t.Helper()
	var to, from []any
	for _, export := range accounts.(values)["CARILLON"].(values)["exports"].([]any) {
		if asJSON(t, export.(values)["accounts"]) == asJSON(t, []string{tenant}) {
			to = append(to, export)
		}
	}
	for _, imported := range accounts.(values)["CARILLON"].(values)["imports"].([]any) {
		if imported.(values)["service"].(values)["account"] == tenant {
			from = append(from, imported)
		}
	}
	other := accounts.(values)[tenant].(values)
	require.NotEmpty(t, to)
	require.NotEmpty(t, from)
	require.Len(t, other["imports"], len(to))
	require.Len(t, other["exports"], len(from))
	return asJSON(t, []any{to, from, other["exports"], other["imports"]})
}

// natsConfig reads a configuration of a NATS server. The values of its variables do not matter here.
func natsConfig(t *testing.T, path string) values {
	t.Helper()
	text := strings.ReplaceAll(readFile(t, deployDir, path), "include \"site.conf\"", "") // it has no accounts
	defined := map[string]bool{}
	for _, match := range regexp.MustCompile(`\$((?:CARILLON|NATS)_\w+)`).FindAllStringSubmatch(text, -1) {
		if !defined[match[1]] {
			text = fmt.Sprintf("%s: something\n%s", match[1], text)
		}
		defined[match[1]] = true
	}
	all, err := conf.Parse(text)
	require.NoError(t, err)
	return all
}

// TestPermissionsAgree: the compose file and the values for NATS's chart have the permissions and accounts that TestAccess and
// TestAttempts try.
func TestPermissionsAgree(t *testing.T) {
	t.Parallel()
	tried := permissionsOf(t, natsConfig(t, "nats/carillon.conf")["accounts"])
	var chart struct {
		Config struct {
			Merge values `yaml:"merge"`
		} `yaml:"config"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, deployDir, "helm/nats-values.yaml")), &chart))
	worker := strings.NewReplacer("BILLING_INVOICES", "WORKERS", "billing_invoices", "default_default", "billing.invoices", "default.default").
		Replace(passageOf(t, natsConfig(t, "nats/carillon.conf")["accounts"], "BILLING_INVOICES"))
	for name, accounts := range map[string]any{
		"compose": natsConfig(t, "compose/nats.conf")["accounts"], "helm": chart.Config.Merge["accounts"],
	} {
		all := permissionsOf(t, accounts)
		assert.JSONEq(t, tried["service"], all["service"], name)
		assert.JSONEq(t, tried["replication"], all["replication"], name)
		assert.JSONEq(t, worker, passageOf(t, accounts, "WORKERS"), name)
		assert.Equal(t, "null", all["operator"], "%s: the operator may do everything", name)
		assert.Len(t, all, 3, name)
		assert.Len(t, accounts, 3, name)
	}
}

// TestNobodyElseImports: an account that an export does not name cannot import it.
func TestNobodyElseImports(t *testing.T) {
	t.Parallel()
	text := readFile(t, deployDir, "nats/carillon.conf")
	text = text[strings.Index(text, "accounts {"):]
	text = regexp.MustCompile(`\$(CARILLON_\w+)`).ReplaceAllString(text, "secret")
	for _, tenant := range []string{"BILLING", "BILLING_INVOICES"} {
		own := natsConfig(t, "nats/carillon.conf")["accounts"].(values)[tenant].(values)
		for _, imported := range own["imports"].([]any) {
			thief := fmt.Sprintf("THIEF { imports: [ %s ] }\n  SYS {", asJSON(t, imported))
			path := filepath.Join(t.TempDir(), "nats.conf")
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(text, "SYS {", thief, 1)), 0o600))
			_, err := server.ProcessConfigFile(path)
			assert.ErrorContains(t, err, "not authorized", "%v", imported)
		}
	}
}
