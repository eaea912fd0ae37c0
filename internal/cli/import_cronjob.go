package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

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

Schedule, time zone, concurrency policy, starting deadline and whether it is
suspended are carried over. A CronJob without a starting deadline makes up for
one missed start, however old, as the schedule does.`,
		Example: "  kubectl get cronjobs -A -o yaml | carillon import k8s-cronjob - --type kubernetes_job",
		Args:    exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all, err := parseCronJobs(data, actionType)
			if err != nil {
				return usagef("%s: %w", args[0], err)
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

// cronJob is what matters of a CronJob (batch/v1), or of a list of them.
type cronJob struct {
	Kind     string    `yaml:"kind"`
	Items    []cronJob `yaml:"items"`
	Metadata struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"metadata"`
	Spec struct {
		Schedule                string         `yaml:"schedule"`
		TimeZone                string         `yaml:"timeZone"`
		ConcurrencyPolicy       string         `yaml:"concurrencyPolicy"`
		StartingDeadlineSeconds *int64         `yaml:"startingDeadlineSeconds"`
		Suspend                 bool           `yaml:"suspend"`
		JobTemplate             map[string]any `yaml:"jobTemplate"`
	} `yaml:"spec"`
}

// parseCronJobs reads the documents of a YAML or JSON text.
func parseCronJobs(data []byte, actionType string) ([]imported, error) {
	documents, err := schedule.DecodeYAMLDocuments[json.RawMessage](data)
	if err != nil {
		return nil, err
	}
	var all []imported
	for _, document := range documents {
		var job cronJob
		if err := yaml.Unmarshal(document, &job); err != nil { // JSON is YAML
			return nil, fmt.Errorf("not a CronJob: %w", err)
		}
		if all, err = job.appendTo(all, actionType); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (j *cronJob) appendTo(all []imported, actionType string) (_ []imported, err error) {
	for i := range j.Items {
		if all, err = j.Items[i].appendTo(all, actionType); err != nil {
			return nil, err
		}
	}
	if len(j.Items) > 0 || j.Kind == "List" || j.Kind == "CronJobList" {
		return all, nil
	}
	name := j.Metadata.Name
	if j.Metadata.Namespace != "" {
		name = j.Metadata.Namespace + "/" + name
	}
	s, err := j.schedule(actionType)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", j.Kind, name, err)
	}
	s.ID, s.from = slug(name), "CronJob "+name
	return append(all, s), nil
}

func (j *cronJob) schedule(actionType string) (imported, error) {
	var s imported
	if j.Kind != "CronJob" || j.Metadata.Name == "" || j.Spec.Schedule == "" {
		return s, fmt.Errorf("is not a CronJob with a name and a schedule")
	}
	input, err := schedule.EncodeJSON(j.Spec.JobTemplate)
	if err != nil {
		return s, err
	}
	s.Spec = schedule.Spec{Cron: []string{j.Spec.Schedule}, TimeZone: j.Spec.TimeZone}
	s.Action = schedule.Action{Type: actionType, Input: input}
	s.State.Paused = j.Spec.Suspend
	switch j.Spec.ConcurrencyPolicy {
	case "", "Allow":
		s.Policies.Overlap = schedule.OverlapAllowAll
	case "Forbid":
		s.Policies.Overlap = schedule.OverlapSkip
	case "Replace":
		s.Policies.Overlap = schedule.OverlapTerminateOther
	default:
		return s, fmt.Errorf("concurrencyPolicy %q must be Allow, Forbid or Replace", j.Spec.ConcurrencyPolicy)
	}
	// The controller starts the newest of several missed ones.
	s.Policies.CatchupMode = schedule.CatchupLatest
	if deadline := j.Spec.StartingDeadlineSeconds; deadline != nil {
		window := time.Duration(*deadline) * time.Second
		if window < schedule.MinCatchupWindow {
			s.notes = append(s.notes, fmt.Sprintf("startingDeadlineSeconds %d is raised to %v", *deadline, schedule.MinCatchupWindow))
		}
		s.Policies.CatchupWindow = schedule.Duration(window)
	}
	return s, nil
}
