// Reads a JSON list of simulations, evaluates each, and writes the list of results: {result, ignored} or {error}.
// The folder of the installed simulator is the argument.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'

const { runSimulation } = createRequire(`${process.argv[2]}/`)('@cloud-copilot/iam-simulate')

const found = []
for (const simulation of JSON.parse(readFileSync(0, 'utf8'))) {
  const done = await runSimulation(
    { serviceControlPolicies: [], resourceControlPolicies: [], ...simulation },
    { simulationMode: 'Strict' }
  )
  if (done.resultType === 'error') found.push({ error: JSON.stringify(done.errors) })
  else found.push({
    result: done.overallResult,
    ignored: (done.results ?? [done.result]).flatMap((item) => item.ignoredContextKeys ?? [])
  })
}
process.stdout.write(JSON.stringify(found))
