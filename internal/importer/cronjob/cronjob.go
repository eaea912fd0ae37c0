// Package cronjob turns CronJobs of Kubernetes into schedules whose input is the job template.
//
// [Parse] reads YAML or JSON as Kubernetes does, and an expression as its parser, robfig/cron, does. If an expression means
// something else to Carillon, it writes another one that means the same. [NoteClockChanges] finds where the two differ when the
// clocks change.
//
// Both are pure. The package imports schedule, specproc, internal/importer, internal/apitext and internal/yamltext. It must not
// import a client of Kubernetes.
package cronjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// job is the part of a CronJob that concerns a schedule.
type job struct {
	Metadata jobMetadata
	Spec     jobSpec
}

type jobMetadata struct {
	Name              string            `json:"name"`
	GenerateName      string            `json:"generateName"`
	Namespace         string            `json:"namespace"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
}

type jobSpec struct {
	Schedule                   string          `json:"schedule"`
	TimeZone                   *string         `json:"timeZone"`
	ConcurrencyPolicy          string          `json:"concurrencyPolicy"`
	StartingDeadlineSeconds    json.RawMessage `json:"startingDeadlineSeconds"`
	Suspend                    bool            `json:"suspend"`
	JobTemplate                json.RawMessage `json:"jobTemplate"`
	SuccessfulJobsHistoryLimit *int32          `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32          `json:"failedJobsHistoryLimit"`
}

// schedule turns the job into a schedule.
func (j *job) schedule(s *importer.Entry, actionType string) error {
	if j.Metadata.Name == "" && j.Metadata.GenerateName == "" {
		return errors.New("metadata.name: is missing")
	}
	if len(j.Spec.JobTemplate) == 0 || string(j.Spec.JobTemplate) == "null" {
		return errors.New("spec.jobTemplate: is missing")
	}
	s.Action = schedule.Action{Type: actionType, Input: j.Spec.JobTemplate}
	s.State.Paused = j.Spec.Suspend
	for _, carryOver := range []func(*importer.Entry) error{j.times, j.overlap, j.deadline} {
		if err := carryOver(s); err != nil {
			return err
		}
	}
	j.lost(s)
	return nil
}

func (j *job) overlap(s *importer.Entry) error {
	switch j.Spec.ConcurrencyPolicy {
	case "", "Allow":
		s.Policies.Overlap = schedule.OverlapAllowAll
	case "Forbid":
		s.Policies.Overlap = schedule.OverlapSkip
	case "Replace":
		s.Policies.Overlap = schedule.OverlapTerminateOther
	default:
		return fmt.Errorf("spec.concurrencyPolicy: %q must be Allow, Forbid or Replace", j.Spec.ConcurrencyPolicy)
	}
	return nil
}

// deadline sets the catch-up window.
func (j *job) deadline(s *importer.Entry) error {
	// The controller starts the newest of several missed times.
	s.Policies.CatchupMode = schedule.CatchupLatest
	text := string(j.Spec.StartingDeadlineSeconds)
	if text == "" || text == "null" {
		return nil
	}
	const most = math.MaxInt64 / int64(time.Second)
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > most {
		return fmt.Errorf("spec.startingDeadlineSeconds: %s is not accepted: write a whole number from 0 to %d", text, most)
	}
	window := time.Duration(seconds) * time.Second
	if window < schedule.MinCatchupWindow {
		s.Note("startingDeadlineSeconds %d is raised to %v, the shortest catch-up window", seconds, schedule.MinCatchupWindow)
	}
	s.Policies.CatchupWindow = schedule.Duration(max(window, schedule.MinCatchupWindow))
	return nil
}

// lost adds notes about fields that have no counterpart in Carillon.
func (j *job) lost(s *importer.Entry) {
	for _, limit := range []struct {
		name string
		jobs *int32
	}{
		{"successfulJobsHistoryLimit", j.Spec.SuccessfulJobsHistoryLimit}, {"failedJobsHistoryLimit", j.Spec.FailedJobsHistoryLimit},
	} {
		if limit.jobs != nil {
			s.Note("%s %d is not carried over: how long Jobs are kept is up to the worker", limit.name, *limit.jobs)
		}
	}
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	annotations := slices.Sorted(maps.Keys(j.Metadata.Annotations))
	annotations = slices.DeleteFunc(annotations, func(name string) bool { return name == applied })
	if len(annotations) > 0 {
		s.Note("the annotations of the CronJob are not carried over: %s", strings.Join(annotations, ", "))
	}
	if len(j.Metadata.Labels) > 0 {
		s.Note("the labels of the CronJob are not carried over")
	}
}

// name returns the name of the object with its namespace.
func (j *job) name() string {
	name := j.Metadata.Name
	if name == "" {
		name = j.Metadata.GenerateName
	}
	if j.Metadata.Namespace == "" {
		return name
	}
	return j.Metadata.Namespace + "/" + name
}
