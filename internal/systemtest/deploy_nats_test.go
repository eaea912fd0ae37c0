package systemtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// permissionsOf are the permissions of the users of Carillon's account, as JSON, by user.
func permissionsOf(t *testing.T, accounts any) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, user := range accounts.(values)["CARILLON"].(values)["users"].([]any) {
		text, err := json.Marshal(user.(values)["permissions"])
		require.NoError(t, err)
		all[user.(values)["user"].(string)] = string(text)
	}
	return all
}

// natsConfig reads a configuration of a NATS server. What its variables are does not matter here.
func natsConfig(t *testing.T, path string) values {
	t.Helper()
	text := readFile(t, deployDir, path)
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

// TestPermissionsAgree: the permissions that TestAccess tries are those of the compose file and of the values for NATS's chart.
func TestPermissionsAgree(t *testing.T) {
	t.Parallel()
	tried := permissionsOf(t, natsConfig(t, "nats/carillon.conf")["accounts"])
	composed := permissionsOf(t, natsConfig(t, "compose/nats.conf")["accounts"])
	var chart struct {
		Config struct {
			Merge values `yaml:"merge"`
		} `yaml:"config"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, deployDir, "helm/nats-values.yaml")), &chart))
	charted := permissionsOf(t, chart.Config.Merge["accounts"])

	worker := strings.NewReplacer("_INBOX_billing_invoices", "_INBOX_worker",
		"billing_invoices", "default_default", "billing.invoices", "default.default").Replace(tried["billing-invoices"])
	for name, all := range map[string]map[string]string{"compose": composed, "helm": charted} {
		assert.JSONEq(t, tried["service"], all["service"], name)
		assert.JSONEq(t, worker, all["worker"], name)
		assert.Equal(t, "null", all["operator"], "%s: the operator may do everything", name)
		assert.Len(t, all, 3, name)
	}
}
