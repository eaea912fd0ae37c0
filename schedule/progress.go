package schedule

import "encoding/json"

// Progress is what the code of a run has recorded about how far it has come, for the next attempt. It is JSON on the progress
// subject of the run's workflow ID; a later one replaces it.
type Progress struct {
	// RunID names the run: the workflow ID may have been that of another.
	RunID string `json:"runId"`
	// Attempt is the number of the attempt that has recorded it.
	Attempt int `json:"attempt"`
	// Details is any JSON value of at most 64 KiB.
	Details json.RawMessage `json:"details"`
}
