#!/bin/sh
# One night of a project that runs fio and knb once: their results become a run beside those of the
# nights before, and are held against these.
#
#   night.sh RESULTS [NIGHT]
#
# RESULTS is the directory with fio.json and knb.json, NIGHT the name of the run (today, unless given).
# HISTORY is where the nights are (history). The commit comes from the CI system, or from COMMIT.
# Written are summary.md, for the pull request or the job, gate.xml and history.html.
# The exit code is that of tare gate; 4, not resolved, counts as 0, since the first nights have no history.
set -eu
results=${1:?usage: night.sh RESULTS [NIGHT]}
night=${2:-$(date -u +%Y-%m-%d)}
history=${HISTORY:-history}

set -- --name nightly --arm nightly --dir "$history/$night" --quiet
if [ -n "${COMMIT:-}" ]; then
	set -- "$@" --label commit="$COMMIT"
fi
tare import auto "$@" "$results" >/dev/null

code=0
tare gate "$history/$night" --against "$history" --observational \
	--budget read-iops=10% --budget tcp-bandwidth=5% \
	--junit gate.xml --markdown "${GITHUB_STEP_SUMMARY:-summary.md}" || code=$?
tare history "$history" -o html --to history.html
if [ "$code" -eq 4 ]; then
	exit 0
fi
exit "$code"
