package metrics

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	// maxAttributes is the largest number of attributes of an instrument.
	maxAttributes = 4
	// maxSeries bounds the combinations of values for which an instrument remembers the attributes. The SDK puts everything
	// beyond its own limit into one series without attributes.
	maxSeries = 4096
)

type values [maxAttributes]string

// series holds the options of each combination of attribute values that has been recorded, because making them costs more than
// recording. O is an option of the instrument. It is safe for concurrent use.
type series[O any] struct {
	names  []Attribute
	option func(metric.MeasurementOption) O
	// bound replaces values that there is no room for; nil if the observing code does that.
	bound func([]Attribute, values) values

	mu   sync.RWMutex
	made map[values][]O
}

func newSeries[O any](names []Attribute, option func(metric.MeasurementOption) O) *series[O] {
	return &series[O]{names: names, option: option, bound: bounded, made: map[values][]O{}}
}

// newObserved is newSeries for an observed instrument. There a value would replace another one and not be added to it, so the
// series are not bounded.
func newObserved(names []Attribute) *series[metric.ObserveOption] {
	s := newSeries(names, func(o metric.MeasurementOption) metric.ObserveOption { return o })
	s.bound = nil
	return s
}

// with returns the options for values of the attributes, in their order.
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
	shown := key
	if s.bound != nil {
		shown = s.bound(s.names, key)
	}
	options := []O{s.option(metric.WithAttributeSet(setOf(s.names, shown)))}
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
