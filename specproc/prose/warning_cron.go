package prose

import (
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// cronDialect warns of an expression that other schedulers read differently.
func (w *warner) cronDialect(source *warnSource) {
	if len(source.fields) == 0 {
		return
	}
	if len(source.fields) == 6 && secondsFirst(source.fields) {
		w.warn(WarnSixFields, source.field, "has six fields, of which the last is the year, so it means "+w.meaning(source.fields)+
			"; where the first of six is the second it means "+w.meaning(append(slices.Clone(source.fields), "*"))+
			": for that, write \""+strings.Join(source.fields, " ")+" *\"")
	}
	weekdays := source.fields[len(source.fields)-1]
	if len(source.fields) > 5 {
		weekdays = source.fields[len(source.fields)-2]
	}
	if slices.Contains(source.fields, "?") && weekdays != "?" && numbersDays(weekdays) {
		w.warn(WarnDayNumbers, source.field, "has ? and numbers of days of the week, which begin with 0 for Sunday here and mean "+
			w.meaning(source.fields)+"; Quartz and EventBridge count from 1 for Sunday: write names such as mon-fri")
	}
}

// secondsFirst reports whether six fields are also valid with a second in front of the usual five. They are not if a field other
// than the day fields is ? or if the last field is a year.
func secondsFirst(fields []string) bool {
	_, err := schedule.ParseCron(strings.Join(fields, " ") + " *")
	return err == nil
}

// numbersDays reports whether a field of days of the week names a day by its number. The number of a turn (fri#2) or a step does
// not count.
func numbersDays(field string) bool {
	for item := range strings.SplitSeq(field, ",") {
		item, _, _ = strings.Cut(item, "#")
		item, _, _ = strings.Cut(item, "/")
		if strings.ContainsAny(item, "0123456789") {
			return true
		}
	}
	return false
}

// meaning describes fields in words, without UTC as the zone.
func (w *warner) meaning(fields []string) string {
	words := Describe(schedule.Spec{Cron: []string{strings.Join(fields, " ")}})
	return "\"" + strings.TrimSuffix(words, ", UTC") + "\""
}

// comments warns of stored expressions that keep the meaning that earlier releases gave them.
func (w *warner) comments(spec *schedule.Spec) {
	for i, text := range spec.Cron {
		if stored, changed := schedule.CronAsStored(text); changed {
			w.warn(WarnComment, indexed("cron", i), "is stored with a # that an earlier release took for the beginning of a comment, so it means "+
				w.meaning([]string{stored})+": write what was meant, such as friL or fri#2, or put a blank before the #")
		}
	}
}
