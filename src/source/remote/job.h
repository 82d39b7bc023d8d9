/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.h - jobs of a service (sources[].jobs): methods that return the id of a job before its end.
 *
 *     aria2.addUri ─► "2089b05e…" ─► aria2.tellStatus ["2089b05e…"] ─► {"status":"complete",…}
 *
 * Ownership: a rule and its texts live as long as their source.
 * Threads:   a rule is immutable.
 */
#ifndef CW_SOURCE_REMOTE_JOB_H
#define CW_SOURCE_REMOTE_JOB_H

#include "source/remote/follow.h"
#include "source/upstream/endpoint.h"

typedef struct cw_job_rule cw_job_rule;

/* The rule of a method of the service, in the arena. NULL: it begins no job. */
CW_MUST_USE cw_code cw_job_rule_make(const cw_endpoint *service, cw_str method, cw_arena *arena,
                                     const cw_job_rule **ret, cw_err *err);
/* The id of the job that a call has begun: JSON, in the arena; .p is NULL: it is not known. */
cw_str cw_job_id(const cw_job_rule *rule, const cw_json *result, cw_str params, cw_arena *arena);
/* Whether the service can end such a job. */
bool cw_job_can_cancel(const cw_job_rule *rule);
uint32_t cw_job_interval(const cw_job_rule *rule);
/* The rule of a follower is a cw_job_rule. */
extern const cw_follow_ops cw_job_ops;

#endif
