package metrics

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Scope is the name of the only meter.
const Scope = "github.com/carillon-scheduler/carillon"

// Kind is what the values of an instrument mean.
type Kind string

// The kinds. A Gauge and a Total are observed whenever metrics are collected; the others are recorded as things happen.
const (
	KindCounter   Kind = "counter"
	KindUpDown    Kind = "up-down counter"
	KindHistogram Kind = "histogram"
	KindGauge     Kind = "gauge"
	KindTotal     Kind = "observed counter"
)

// Group is the section of the catalogue that an instrument belongs to.
type Group string

// The groups.
const (
	GroupRuns       Group = "Runs and actions"
	GroupBackfills  Group = "Triggers and backfills"
	GroupPools      Group = "Pools"
	GroupQueues     Group = "Task queues"
	GroupExecutions Group = "Workflow executions"
	GroupTasks      Group = "Tasks of workflow executions"
	GroupWorkers    Group = "Workers"
	GroupAPI        Group = "API and namespaces"
	GroupState      Group = "State and timers"
	GroupNATS       Group = "NATS and JetStream"
	GroupUpkeep     Group = "Search, consistency and jobs"
	GroupSites      Group = "Two sites"
	GroupWatched    Group = "Watched schedules"
)

// Instrument describes one entry of the catalogue.
type Instrument struct {
	// Name is its name in OpenTelemetry: words and dots.
	Name string
	// Unit is in UCUM, such as "s", "By" or "{run}"; "1" for a share from 0 to 1; empty for another number without a unit.
	Unit string
	// Description is one sentence.
	Description string
	// Attributes are the attributes of every series, in the order in which callers give values.
	Attributes []Attribute
	// Buckets are the upper bounds of a histogram, in its unit.
	Buckets []float64
	// By says which processes record it.
	By   string
	Kind Kind
	// Group is set by the catalogue.
	Group Group
}

// Attribute describes one attribute of an instrument.
type Attribute struct {
	Name string
	// Values are all possible values; if nil, Means describes them.
	Values []string
	Means  string
}

var catalogue []Instrument

// Groups returns all groups, in the order of the catalogue.
func Groups() []Group {
	return []Group{
		GroupRuns, GroupBackfills, GroupQueues, GroupPools, GroupExecutions, GroupTasks, GroupWorkers, GroupAPI, GroupState, GroupNATS,
		GroupUpkeep, GroupSites, GroupWatched,
	}
}

// Catalogue returns all instruments, by group and name.
func Catalogue() []Instrument {
	groups := Groups()
	all := slices.Clone(catalogue)
	slices.SortFunc(all, func(a, b Instrument) int {
		return cmp.Or(cmp.Compare(slices.Index(groups, a.Group), slices.Index(groups, b.Group)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// describe adds an instrument to the catalogue. Only initialisers of package variables call it.
func describe(group Group, kind Kind, i Instrument) Instrument {
	i.Group, i.Kind = group, kind
	catalogue = append(catalogue, i)
	return i
}

var meter = otel.Meter(Scope) // stands for the meter that the process sets, perhaps later

// PrometheusName returns the name that the Prometheus exporter of OpenTelemetry gives an instrument. A histogram adds _bucket,
// _sum and _count to it.
func (i *Instrument) PrometheusName() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	if suffix := unitSuffix(i.Unit); suffix != "" && !strings.HasSuffix(name, suffix) {
		name += suffix
	}
	if i.Kind == KindCounter || i.Kind == KindTotal {
		name += "_total"
	}
	return name
}

func unitSuffix(unit string) string {
	switch unit {
	case "s":
		return "_seconds"
	case "By":
		return "_bytes"
	case "1":
		return "_ratio" // of a gauge
	}
	return "" // of {things}
}

// PrometheusNames returns the names of the series of an instrument: three for a histogram.
func (i *Instrument) PrometheusNames() []string {
	name := i.PrometheusName()
	if i.Kind == KindHistogram {
		return []string{name + "_bucket", name + "_sum", name + "_count"}
	}
	return []string{name}
}

func (i *Instrument) options() (description, unit metric.InstrumentOption) {
	return metric.WithDescription(i.Description), metric.WithUnit(i.Unit)
}
