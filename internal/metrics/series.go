package metrics

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	// maxAttributes is how many attributes an instrument has at most.
	maxAttributes = 4
	// maxSeries bounds the combinations of values that an instrument remembers the attributes of. The SDK puts what is beyond
	// its own limit, 2,000 by default, into one series.
	maxSeries = 4096
)

type values [maxAttributes]string

// series holds the options of each combination of attribute values that has been recorded: to make them costs more than to
// record. O is an option of the instrument. It is safe for concurrent use.
type series[O any] struct {
	names  []Attribute
	option func(metric.MeasurementOption) O

	mu   sync.RWMutex
	made map[values][]O
}

func newSeries[O any](names []Attribute, option func(metric.MeasurementOption) O) *series[O] {
	return &series[O]{names: names, option: option, made: map[values][]O{}}
}

// with returns the options for some values, which belong to the attributes in their order.
func (s *series[O]) with(given []string) []O {
	var key values
	copy(key[:], given)
	s.mu.RLock()
	options, known := s.made[key]
	s.mu.RUnlock()
	if known {
		return options
	}
	return s.make(key)
}

func (s *series[O]) make(key values) []O {
	options := []O{s.option(metric.WithAttributeSet(setOf(s.names, key)))}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.made) >= maxSeries {
		clear(s.made)
	}
	s.made[key] = options
	return options
}

func setOf(names []Attribute, key values) attribute.Set {
	attributes := make([]attribute.KeyValue, len(names))
	for i := range names {
		attributes[i] = attribute.String(names[i].Name, key[i])
	}
	return attribute.NewSet(attributes...)
}
