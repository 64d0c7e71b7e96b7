const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

/** Codex's text for a plan whose limit is reached. `error` is the provider's: `plan_type`, `resets_at` (seconds). */
export function usageLimitText(error: Readonly<Record<string, unknown>>, now: Date = new Date()): string {
  const start = "You've hit your usage limit."
  const when = typeof error.resets_at === 'number' ? moment(new Date(error.resets_at * 1000), now) : null
  if (error.plan_type !== 'plus') return when === null ? `${start} Try again later.` : `${start} Try again at ${when}.`
  const offer =
    'Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits'
  return `${start} ${offer} or try again ${when === null ? 'later' : `at ${when}`}.`
}

/** `5:46 PM` today, else `Mar 17th, 2030 5:46 PM`, in local time; null for a moment that is none. */
function moment(at: Date, now: Date): string | null {
  if (Number.isNaN(at.getTime())) return null
  const minutes = String(at.getMinutes()).padStart(2, '0')
  const time = `${at.getHours() % 12 || 12}:${minutes} ${at.getHours() < 12 ? 'AM' : 'PM'}`
  if (at.toDateString() === now.toDateString()) return time
  const day = at.getDate()
  return `${MONTHS[at.getMonth()]} ${day}${ordinal(day)}, ${at.getFullYear()} ${time}`
}

function ordinal(day: number): string {
  if (day >= 11 && day <= 13) return 'th'
  return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th'
}
