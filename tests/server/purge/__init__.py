"""Tests of purge orders: holders, deliveries, answers, holds, webhooks, notices."""
