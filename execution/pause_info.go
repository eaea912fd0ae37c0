package execution

import (
	"encoding/json"
	"maps"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
)

const (
	// pauseInfo is the search attribute by which runs with paused activities are found.
	pauseInfo = "TemporalPauseInfo"
	// pausedType stands before the type of a paused activity in its value.
	pausedType = "property:activityType="
	// maxPausedTypes bounds the value.
	maxPausedTypes = 100
)

// PauseInfo is what of a run is paused.
type PauseInfo struct {
	// Types are the types of the paused activities that are pending, in order and each once: the first 100 of them.
	Types []string `json:"types,omitempty"`
}

// WithPauseInfo returns the search attributes of a run after a change of what is paused. As with Temporal, TemporalPauseInfo is a list of keywords,
// "property:activityType=TYPE" for each type. It is not there if nothing is paused. fields is not changed; the result may be fields.
func WithPauseInfo(fields map[string]*commonpb.Payload, info *PauseInfo) map[string]*commonpb.Payload {
	if info == nil {
		return fields
	}
	values := []string{}
	for _, name := range info.Types {
		values = append(values, pausedType+name)
	}
	data, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return merged(fields, map[string]*commonpb.Payload{pauseInfo: {
		Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("KeywordList")}, Data: data,
	}})
}

// pausedTypes are those of [PauseInfo].
func (r *Run) pausedTypes() []string {
	var found map[string]bool
	for _, activity := range r.Activities {
		if !activity.paused() {
			continue
		}
		if found == nil {
			found = map[string]bool{}
		}
		found[activity.Attributes.GetActivityType().GetName()] = true
	}
	all := slices.Sorted(maps.Keys(found))
	return all[:min(len(all), maxPausedTypes)]
}

// notePauses says what is paused now, if the transition has changed that. In a run that it has begun, nothing was paused before.
func (tx *transition) notePauses() {
	var before []string
	if tx.part.First != 0 {
		before = tx.before.Run.pausedTypes()
	}
	types := tx.run.pausedTypes()
	if slices.Equal(types, before) {
		return
	}
	tx.part.Paused = &PauseInfo{Types: types}
	tx.run.SearchAttributes = WithPauseInfo(tx.run.SearchAttributes, tx.part.Paused)
}
