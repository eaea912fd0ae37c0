package cli

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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) importCronJobCommand() *cobra.Command {
	var flags importFlags
	var actionType string
	cmd := &cobra.Command{
		Use:   "k8s-cronjob FILE [flags]",
		Short: "Turn CronJobs of Kubernetes into schedules",
		Long: `Turns CronJobs of Kubernetes, single or in a list, into schedules. Their action has
the job template as its input: a worker of yours that has a handler for the type
of --type makes the Job of it.

The file is read as Kubernetes reads it: YAML or JSON, with octal numbers such as
0644; and the cron expression by the parser that Kubernetes has. One that means
something else to Carillon is written in other words, which is said in a note.
Schedule, time zone, concurrency policy, starting deadline and whether it is suspended
are carried over. A starting deadline below 10s, 0 included, is raised to 10s. A
CronJob without one makes up for one missed start, however old within 365 days, as the
schedule does. Everything that is no CronJob is left out.

Where the clocks change, a schedule is due at every time that the clock on the wall
shows, twice where it shows it twice. Kubernetes leaves out a day that has no midnight,
and starts at other times where the clocks move by half an hour. A note says where that
matters within the next two years.`,
		Example: "  kubectl get cronjobs -A -o yaml | carillon import k8s-cronjob - --type kubernetes_job",
		Args:    exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all := parseCronJobs(data, actionType)
			notes := clockNotes{}
			for i := range all {
				notes.add(&all[i], flags.Zone, a.env.Now())
			}
			return a.writeImported(&flags, all)
		},
	}
	flags.define(cmd)
	addFlags(cmd, "CronJobs", func(f *pflag.FlagSet) {
		f.StringVar(&actionType, "type", "kubernetes_job", "give the actions `TYPE`")
	})
	return cmd
}

// cronJob is as much of a CronJob as concerns a schedule.
type cronJob struct {
	Metadata cronJobMetadata
	Spec     cronJobSpec
}

type cronJobMetadata struct {
	Name              string            `json:"name"`
	GenerateName      string            `json:"generateName"`
	Namespace         string            `json:"namespace"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
}

type cronJobSpec struct {
	Schedule                   string          `json:"schedule"`
	TimeZone                   *string         `json:"timeZone"`
	ConcurrencyPolicy          string          `json:"concurrencyPolicy"`
	StartingDeadlineSeconds    json.RawMessage `json:"startingDeadlineSeconds"`
	Suspend                    bool            `json:"suspend"`
	JobTemplate                json.RawMessage `json:"jobTemplate"`
	SuccessfulJobsHistoryLimit *int32          `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32          `json:"failedJobsHistoryLimit"`
}

// schedule makes a schedule of it.
func (j *cronJob) schedule(s *importer.Entry, actionType string) error {
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

func (j *cronJob) overlap(s *importer.Entry) error {
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

// deadline makes the catch-up window.
func (j *cronJob) deadline(s *importer.Entry) error {
	// The controller starts the newest of several missed ones.
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

// lost notes what has no counterpart.
func (j *cronJob) lost(s *importer.Entry) {
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

// name is that of the object with its namespace.
func (j *cronJob) name() string {
	name := j.Metadata.Name
	if name == "" {
		name = j.Metadata.GenerateName
	}
	if j.Metadata.Namespace == "" {
		return name
	}
	return j.Metadata.Namespace + "/" + name
}
