// Package importer turns the entries of other schedulers into schedules of Carillon.
//
// Each source has a package below this one: crontab, cronjob (Kubernetes) and temporal. Its Parse takes the text of a file
// and returns an [Entry] for each thing in it. What a schedule loses is a note of its entry; an entry that cannot be carried
// over has a problem. [Options] add what the source does not say, and write the schedules as files for apply.
//
// Everything here is pure: text in, schedules, notes and problems out. The command line reads the files and prints.
// Nothing here may import the command line, a client, or what stores schedules.
//
// The package may import schedule and internal/apitext.
package importer
