package prose_test

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

func ExampleDescribe() {
	for _, cron := range []string{"0 9 * * mon-fri", "*/15 8-17 * * *", "0 18 L * ?", "0 9 ? * fri#2"} {
		fmt.Println(prose.Describe(schedule.Spec{Cron: []string{cron}, TimeZone: "Europe/Berlin"}))
	}
	// Output:
	// at 09:00, Monday to Friday, Europe/Berlin
	// every 15 minutes from 08:00 to 17:45 every day, Europe/Berlin
	// at 18:00 on the last day of the month, Europe/Berlin
	// at 09:00 on the second Friday of the month, Europe/Berlin
}

func ExampleWarnings() {
	spec := schedule.Spec{Cron: []string{"0 12 31 * *"}}
	for _, warning := range prose.Warnings(spec, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		fmt.Printf("%s: %s\n", warning.Field, warning.Text)
	}
	// Output:
	// cron[0]: day 31 will not run in February, April, June, September and November
}
