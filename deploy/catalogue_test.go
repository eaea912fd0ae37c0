package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// catalogue has the series that Prometheus stores, by name.
type catalogue map[string]series

// series has the values that each label may have; nil where they are not from a fixed set.
type series map[string][]string

// loadCatalogue returns what Prometheus has of processes of Carillon: their own metrics, those of the Go runtime and the
// process, and its own. Each has the labels that Prometheus adds when it scrapes.
func loadCatalogue(t *testing.T) catalogue {
	t.Helper()
	known := catalogue{
		"up":     scraped(),
		"ALERTS": {"alertname": nil, "alertstate": {"pending", "firing"}, "severity": nil},
	}
	for _, instrument := range metrics.Catalogue() {
		of := scraped()
		for _, attribute := range instrument.Attributes {
			of[attribute.Name] = attribute.Values
		}
		for _, name := range instrument.PrometheusNames() {
			known[name] = maps.Clone(of)
			if strings.HasSuffix(name, "_bucket") {
				known[name]["le"] = nil
			}
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		known[family.GetName()] = scraped()
	}
	return known
}

// scraped are the labels that Prometheus adds. That with the role is from the configuration.
func scraped() series { return series{"job": nil, "instance": nil, "role": nil} }

// labels returns the names of the labels.
func (s series) labels() labels { return labelSet(slices.Collect(maps.Keys(s))...) }

// check makes sure that a matcher can be true. The value is as PromQL has it, in quotes.
func (s series) check(label, value string) error {
	values, ok := s[label]
	if !ok {
		return fmt.Errorf("there is no label %s but %s", label, s.labels())
	}
	for _, one := range strings.Split(strings.Trim(value, `"`), "|") {
		if values != nil && !strings.Contains(one, "$") && !slices.Contains(values, one) {
			return fmt.Errorf("%s is never %s but %s", label, one, strings.Join(values, ", "))
		}
	}
	return nil
}
